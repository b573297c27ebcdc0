//! Why a transaction cannot be committed any more.

use std::error::Error as StdError;
use std::fmt;

use sea_orm::DbErr;

use crate::Error;
use crate::transient::{Redelivery, is_transient};

/// Why the handler's `Ok` was not committed: [`Error::Aborted`](crate::Error::Aborted). Everything was rolled back, unless
/// the text says that a part cannot be.
#[derive(Clone, Debug)]
pub struct Aborted {
    pub(crate) cause: Cause,
    /// The delivery ran inside a transaction of the caller's, and that one is dead, too.
    pub(crate) callers_transaction: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Cause {
    /// A failed statement ended the transaction, or may have been rolled back alone.
    Statement(DbErr),
    /// A statement's future was dropped before the answer came: nobody knows what it did.
    Cancelled,
    /// A nested transaction was still open.
    NestedAlive,
    /// Nested transactions were not settled from the innermost outwards.
    OutOfOrder,
    /// A nested transaction was rolled back, and with it what an outer handle had sent meanwhile.
    TakenAlong,
    /// The marker was still there after the rollback: the body had committed.
    EndedByBody,
}

impl Cause {
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Statement(error) => is_transient(error),
            Self::Cancelled => true,
            Self::NestedAlive | Self::OutOfOrder | Self::TakenAlong | Self::EndedByBody => false,
        }
    }

    /// What a further statement is answered.
    pub(crate) fn refusal(&self) -> DbErr {
        match self {
            // The one that counts: a handler that gives up now shows its pump that the delivery may be repeated.
            Self::Statement(error) if is_transient(error) => error.clone(),
            Self::Cancelled => Error::Aborted(Aborted { cause: Self::Cancelled, callers_transaction: false }).into(),
            other => {
                DbErr::Custom(format!("refused: {other}, so the transaction can only be rolled back. Return the error; nothing is stored"))
            }
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Statement(error) => write!(f, "an earlier statement failed ({error})"),
            Self::Cancelled => f.write_str("a statement was cancelled before its answer came"),
            Self::NestedAlive => f.write_str("a nested transaction is still open"),
            Self::OutOfOrder => f.write_str("an outer nested transaction was settled before an inner one"),
            Self::TakenAlong => f.write_str("a nested transaction was rolled back, and with it statements of an outer one"),
            Self::EndedByBody => f.write_str("the handler ended the transaction itself (a CALL, or DDL in a procedure)"),
        }
    }
}

impl Aborted {
    /// Whether the caller's own transaction is dead, too.
    pub(crate) const fn kills_callers_transaction(&self) -> bool {
        self.callers_transaction
    }

    pub(crate) const fn is_transient_by_itself(&self) -> bool {
        matches!(self.cause, Cause::Cancelled)
    }
}

impl fmt::Display for Aborted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the delivery was not committed: {}. ", self.cause)?;
        if matches!(self.cause, Cause::EndedByBody) {
            f.write_str(
                "The marker was taken back, so that the redelivery runs the handler; what the handler had committed itself stays. Do not \
                 acknowledge, and keep transaction control out of handlers",
            )?;
            return if self.callers_transaction { f.write_str("; your own transaction is over, too") } else { Ok(()) };
        }
        f.write_str("Everything was rolled back: do not acknowledge")?;
        if self.callers_transaction {
            f.write_str(", and roll back your own transaction, which cannot be used any more")?;
        }
        if !self.cause.is_transient() {
            f.write_str(". The handler must return its errors instead of going on, and settle the transactions it opens")?;
        }
        Ok(())
    }
}

impl StdError for Aborted {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.cause {
            Cause::Statement(error) => Some(error),
            Cause::Cancelled => Some(&Redelivery),
            Cause::NestedAlive | Cause::OutOfOrder | Cause::TakenAlong | Cause::EndedByBody => None,
        }
    }
}
