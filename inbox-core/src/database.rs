//! What a delivery can run on.

use std::sync::Arc;

use sea_orm::{DatabaseConnection, DatabaseTransaction};

use crate::InboxTransaction;

/// What a handler's first parameter may be: a pool, or a transaction that the caller commits.
///
/// * [`DatabaseConnection`]: each delivery is a transaction of its own. `Ok` means committed: acknowledge.
/// * [`DatabaseTransaction`]: the marker and the handler's work sit in a savepoint of the caller's transaction. A duplicate
///   leaves the caller's other work usable. `Ok` is not yet "acknowledge": only the caller's commit is. After an `Err` whose
///   cause killed the whole transaction (a deadlock on MySQL) the caller must roll back.
///   So it must after a delivery that was cancelled (a timeout around it): SeaORM may have rolled back everything, and what
///   follows would be committed alone.
///   One delivery at a time: a second one is [`Error::Begin`](crate::Error::Begin) while the first is at work, and a statement of
///   the caller's own meanwhile, or a delivery through a savepoint of the caller's, may be rolled back with it.
/// * [`InboxTransaction`]: a delivery inside another's body, in a savepoint of it.
///
/// References and smart pointers to them are as good. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "a delivery cannot run on `{Self}`",
    label = "not a SeaORM connection or transaction",
    note = "the first parameter of an idempotent handler is `&DatabaseConnection`, `&DatabaseTransaction`, `&InboxTransaction`, or `&impl inbox_core::Database`"
)]
pub trait Database: sealed::Sealed {}

/// What it is, behind the pointers.
#[derive(Clone, Copy)]
pub enum Handle<'a> {
    Pool(&'a DatabaseConnection),
    Transaction(&'a DatabaseTransaction),
    Nested(&'a InboxTransaction),
}

pub(crate) mod sealed {
    pub trait Sealed: Sync {
        fn handle(&self) -> super::Handle<'_>;
    }
}
use sealed::Sealed;

impl Database for DatabaseConnection {}
impl Sealed for DatabaseConnection {
    fn handle(&self) -> Handle<'_> {
        Handle::Pool(self)
    }
}

impl Database for DatabaseTransaction {}
impl Sealed for DatabaseTransaction {
    fn handle(&self) -> Handle<'_> {
        Handle::Transaction(self)
    }
}

impl Database for InboxTransaction {}
impl Sealed for InboxTransaction {
    fn handle(&self) -> Handle<'_> {
        Handle::Nested(self)
    }
}

macro_rules! behind {
    ($($pointer:ty: $($also:ident)?;)*) => {$(
        impl<D: Database $(+ $also)? + ?Sized> Database for $pointer {}
        impl<D: Database $(+ $also)? + ?Sized> Sealed for $pointer {
            fn handle(&self) -> Handle<'_> {
                (**self).handle()
            }
        }
    )*};
}

behind! {
    &D: ;
    &mut D: ;
    Box<D>: ;
    Arc<D>: Send;
}
