//! A company's facade: its services depend on this crate only.

pub use inbox as deduplication;

/// The attribute as the facade's users would want it, with the path filled in.
#[macro_export]
macro_rules! once {
    ($consumer:literal, $handler:item) => {
        #[$crate::deduplication::idempotent(consumer = $consumer, crate = $crate::deduplication)]
        $handler
    };
}
