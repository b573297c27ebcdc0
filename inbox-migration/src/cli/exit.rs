//! What the process says when it ends.

use std::process::ExitCode;

/// The exit codes of `inbox`. They are part of its interface: a code keeps its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Exit {
    /// Done, or nothing to do.
    Done = 0,
    /// Something else; the text says what.
    Other = 1,
    /// The command line is wrong, or names no database.
    Usage = 2,
    /// The server or the file cannot be reached, or has no such database.
    Unreachable = 3,
    /// The database refuses the user, or the user lacks a right, or it is read-only.
    MissingRights = 4,
    /// The URL cannot be used: no or a wrong scheme, no database, a character that must be percent-encoded.
    BadUrl = 5,
    /// There is no driver for this URL in this binary.
    NoDriver = 6,
    /// Table and history do not agree, or the table lacks a piece. The text says what to do.
    HalfApplied = 7,
    /// The table does not deduplicate. The text says what mends it.
    NotVerified = 8,
    /// `down` found markers, and dropped nothing.
    RowsExist = 9,
    /// Another process migrated, or held the table or the file, all the time. Nothing was changed: run it again.
    Locked = 10,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// For `--help`.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
   0  done, or nothing to do
   1  something else
   2  wrong usage, or no database named
   3  server, file or database cannot be reached
   4  user refused, missing rights, or a read-only database
   5  the URL cannot be used
   6  no driver for this URL in this binary
   7  half-applied schema
   8  verification failed
   9  down: there are markers, nothing was dropped
  10  another process holds the migration lock, the table or the file";
