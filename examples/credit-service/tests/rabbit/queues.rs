//! The queues, looked at past the program.

use lapin::options::{BasicAckOptions, BasicGetOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Connection, ConnectionProperties};

pub(crate) async fn channel(url: &str) -> (Connection, Channel) {
    let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    (connection, channel)
}

/// How many messages wait there; none in a consumer's hands.
pub(crate) async fn waiting(url: &str, queue: &str) -> u32 {
    let (_connection, channel) = channel(url).await;
    let look = QueueDeclareOptions { passive: true, ..Default::default() };
    channel.queue_declare(queue.into(), look, FieldTable::default()).await.unwrap().message_count()
}

/// Takes everything that lies there.
pub(crate) async fn drain(url: &str, queue: &str) -> Vec<String> {
    let (_connection, channel) = channel(url).await;
    let mut taken = Vec::new();
    while let Some(message) = channel.basic_get(queue.into(), BasicGetOptions::default()).await.unwrap() {
        taken.push(String::from_utf8(message.delivery.data.clone()).unwrap());
        message.delivery.ack(BasicAckOptions::default()).await.unwrap();
    }
    taken.sort();
    taken
}
