//! Where the URL comes from: flag or file, else the environment, else `.env`. The environment is not changed.

use std::env::{self, VarError};
use std::path::Path;

use super::args::Args;
use super::exit::Exit;
use super::failure::Failure;

const VARIABLE: &str = "DATABASE_URL";

pub(super) fn database_url(args: &Args) -> Result<String, Failure> {
    match (&args.database_url, &args.database_url_file) {
        (Some(_), Some(_)) => Err(usage("--database-url and --database-url-file cannot both be given".to_owned())),
        (Some(url), None) => given(&url.0, "--database-url"),
        (None, Some(file)) => from_file(file),
        (None, None) => from_environment(env::var(VARIABLE)),
    }
}

fn from_file(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| usage(format!("--database-url-file {} cannot be read: {}", file.display(), error.kind())))?;
    given(&text, "--database-url-file")
}

fn from_environment(variable: Result<String, VarError>) -> Result<String, Failure> {
    match variable {
        // Empty is how compose files and shells say "not set".
        Ok(url) if !url.trim().is_empty() => Ok(url.trim().to_owned()),
        Err(VarError::NotUnicode(_)) => Err(usage(format!("{VARIABLE} is not UTF-8"))),
        _ => from_dotenv()?.map_or_else(
            || Err(usage(format!("no database: give --database-url, --database-url-file, {VARIABLE}, or a .env file with {VARIABLE}"))),
            |url| given(&url, ".env"),
        ),
    }
}

/// Errors of `dotenvy` quote the line, which may be the one with the password.
fn from_dotenv() -> Result<Option<String>, Failure> {
    let lines = match dotenvy::dotenv_iter() {
        Ok(lines) => lines,
        Err(error) if error.not_found() => return Ok(None),
        Err(_) => return Err(usage(".env cannot be read".to_owned())),
    };
    for (place, line) in lines.enumerate() {
        match line {
            Ok((name, value)) if name == VARIABLE => return Ok(Some(value)),
            Ok(_) => {}
            Err(_) => {
                return Err(usage(format!(
                    ".env cannot be understood after its entry {place}; values with blanks or special characters need quotes"
                )));
            }
        }
    }
    Ok(None)
}

fn given(url: &str, by: &str) -> Result<String, Failure> {
    let url = url.trim();
    if url.is_empty() { Err(usage(format!("{by} is empty"))) } else { Ok(url.to_owned()) }
}

fn usage(message: String) -> Failure {
    Failure { exit: Exit::Usage, message }
}
