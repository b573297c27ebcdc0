//! On a RabbitMQ of the test's own, which is killed and started again, as are the database and the replicas.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "rabbit/events.rs"]
mod events;
#[path = "rabbit/lost.rs"]
mod lost;
#[path = "rabbit/modes.rs"]
mod modes;
#[path = "run/program.rs"]
#[allow(dead_code, reason = "each suite takes what it needs")]
mod program;
#[path = "rabbit/queues.rs"]
mod queues;
#[path = "rabbit/stage.rs"]
mod stage;
#[path = "rabbit/torture.rs"]
mod torture;
