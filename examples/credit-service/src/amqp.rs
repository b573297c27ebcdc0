//! RabbitMQ: where the events lie, where those go that nobody can handle, and how to get there.

mod consume;
mod publish;

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Connection, ConnectionProperties, ErrorKind, ExchangeKind};

pub(crate) use self::consume::{Tell, consume};
pub(crate) use self::publish::publish;

/// How often the broker delivers an event before it gives it up. What a replica holds while the database is away is not given
/// back, and does not count.
const DELIVERY_LIMIT: i64 = 20;

/// A broker, and the queue on it.
#[derive(Clone)]
pub(crate) struct Broker {
    pub(crate) url: String,
    pub(crate) queue: String,
}

impl Broker {
    async fn connect(&self, name: &str) -> lapin::Result<Connection> {
        Connection::connect(&self.url, ConnectionProperties::default().with_connection_name(name.into())).await
    }

    /// Exchange and queue of those that are given up.
    fn dead(&self) -> String {
        format!("{}.dead", self.queue)
    }

    /// Creates what is missing. What is there with other arguments is refused by the broker, and left alone.
    async fn declare(&self, channel: &Channel) -> lapin::Result<()> {
        let dead = self.dead();
        let durable = ExchangeDeclareOptions { durable: true, ..Default::default() };
        channel.exchange_declare(dead.as_str().into(), ExchangeKind::Fanout, durable, FieldTable::default()).await?;
        let mut quorum = FieldTable::default();
        // Replicated where there are several nodes, and the only kind that counts deliveries.
        quorum.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
        channel.queue_declare(dead.as_str().into(), QueueDeclareOptions::durable(), quorum.clone()).await?;
        channel
            .queue_bind(dead.as_str().into(), dead.as_str().into(), "".into(), QueueBindOptions::default(), FieldTable::default())
            .await?;
        quorum.insert("x-delivery-limit".into(), AMQPValue::LongLongInt(DELIVERY_LIMIT));
        quorum.insert("x-dead-letter-exchange".into(), AMQPValue::LongString(dead.into()));
        // A dead letter leaves its queue only when it has arrived; the broker asks for the second in return.
        quorum.insert("x-dead-letter-strategy".into(), AMQPValue::LongString("at-least-once".into()));
        quorum.insert("x-overflow".into(), AMQPValue::LongString("reject-publish".into()));
        channel.queue_declare(self.queue.as_str().into(), QueueDeclareOptions::durable(), quorum).await?;
        Ok(())
    }

    /// How many events wait, and how many were given up. Those in a consumer's hands are not counted.
    pub(crate) async fn depths(&self) -> lapin::Result<(u32, u32)> {
        let connection = self.connect("credit-service: depths").await?;
        let channel = connection.create_channel().await?;
        self.declare(&channel).await?;
        let look = QueueDeclareOptions { passive: true, ..Default::default() };
        let waiting = channel.queue_declare(self.queue.as_str().into(), look, FieldTable::default()).await?.message_count();
        let dead = channel.queue_declare(self.dead().into(), look, FieldTable::default()).await?.message_count();
        connection.close(200, "done".into()).await?;
        Ok((waiting, dead))
    }
}

/// Whether it is of no use to try again: the broker was there and said no.
fn refused(error: &lapin::Error) -> bool {
    match error.kind() {
        // Access refused, a queue of this name with other arguments, no such virtual host.
        ErrorKind::ProtocolError(said) => matches!(said.get_id(), 403 | 406 | 530),
        ErrorKind::InvalidProtocolVersion(_) => true,
        _ => false,
    }
}
