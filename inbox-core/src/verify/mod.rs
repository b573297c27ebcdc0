//! stub
use sea_orm::DatabaseConnection;
/// Schema
#[derive(Clone, Debug, thiserror::Error)]
#[error("schema")]
pub struct SchemaError {}
/// verify
pub async fn verify(_db: &DatabaseConnection) -> Result<(), crate::Error> {
    Ok(())
}
