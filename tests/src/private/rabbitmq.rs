//! RabbitMQ, with an Erlang port mapper of its own.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::Child,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use tempfile::TempDir;

use super::{LIMIT, as_user, folder_of, free_port, log, processes, spawn};

const USER: &str = "rabbitmq";

/// A broker of one test's own: the same address, queues and durable messages each time it is started.
#[derive(Debug)]
pub struct RabbitMq {
    folder: TempDir,
    ports: Ports,
    mapper: Child,
    node: Child,
}

#[derive(Debug)]
struct Ports {
    clients: u16,
    nodes: u16,
    mapper: u16,
}

impl RabbitMq {
    /// Starts one without any queue; it takes several seconds.
    ///
    /// # Panics
    /// When it does not answer within a minute, with its log.
    pub async fn new() -> Self {
        let folder = folder_of(USER);
        // No plugins, no file that says where other files are.
        for (name, content) in [("plugins", "[]."), ("environment", ""), ("node.config", "[{rabbit, [{disk_free_limit, 1000000}]}].")] {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let ports = Ports { clients: free_port(), nodes: free_port(), mapper: free_port() };
        // A node that finds none starts one, which would outlive it.
        let mut mapper = map_ports(folder.path(), ports.mapper);
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", ports.mapper)).is_err() {
            let ended = mapper.try_wait().unwrap();
            assert!(ended.is_none() && begun.elapsed() < LIMIT, "epmd does not start ({ended:?}): {}", log(&folder));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let node = serve(folder.path(), &ports);
        let mut broker = Self { folder, ports, mapper, node };
        broker.ready().await;
        broker
    }

    /// Where it is, for its one user and its one virtual host.
    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.ports.clients)
    }

    /// SIGKILL; returns when its processes are dead, and blocks the thread until then.
    pub fn kill(&mut self) {
        let family = processes::family(&mut self.node);
        processes::kill(&mut self.node);
        // What it has started ends by itself when it can no longer read from the node, but not at once.
        processes::wait_for_end(&family);
    }

    /// SIGTERM: it says goodbye to its clients, which takes seconds; blocks the thread until it has ended.
    ///
    /// # Panics
    /// When that takes more than a minute, with its log.
    pub fn stop(&mut self) {
        let family = processes::family(&mut self.node);
        assert!(processes::stop(&mut self.node, Signal::TERM), "it does not end: {}", log(&self.folder));
        processes::wait_for_end(&family);
    }

    /// Starts it again, where it was, after [`kill`](Self::kill) or [`stop`](Self::stop).
    ///
    /// # Panics
    /// When it still runs, or does not answer within a minute, with its log.
    pub async fn start(&mut self) {
        assert!(self.node.try_wait().unwrap().is_some(), "it still runs");
        self.node = serve(self.folder.path(), &self.ports);
        self.ready().await;
    }

    /// The numbers of its processes: the node, what that has started, and the port mapper.
    pub fn processes(&mut self) -> Vec<u32> {
        [&mut self.node, &mut self.mapper].into_iter().flat_map(processes::family).collect()
    }

    /// What it keeps, and its log; removed when it is dropped.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    async fn ready(&mut self) {
        let begun = Instant::now();
        while !self.greets() {
            let ended = self.node.try_wait().unwrap();
            assert!(ended.is_none() && begun.elapsed() < LIMIT, "it does not start ({ended:?}): {}", log(&self.folder));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Whether it is this node that answers there, and no other test's: it opens with `connection.start`, which tells its name.
    fn greets(&self) -> bool {
        let name = name(self.folder.path());
        greeting(self.ports.clients).is_some_and(|greeting| greeting.windows(name.len()).any(|part| part == name.as_bytes()))
    }
}

impl Drop for RabbitMq {
    fn drop(&mut self) {
        self.kill();
        processes::kill(&mut self.mapper);
    }
}

/// The first frame of a connection: type, channel, length, and a method with its arguments.
fn greeting(port: u16) -> Option<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)), Duration::from_secs(1)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    stream.write_all(b"AMQP\x00\x00\x09\x01").ok()?;
    let mut head = [0; 7];
    stream.read_exact(&mut head).ok()?;
    let [1, _, _, length @ ..] = head else { return None };
    let mut greeting = vec![0; usize::try_from(u32::from_be_bytes(length)).ok()?];
    stream.read_exact(&mut greeting).ok()?;
    Some(greeting)
}

/// Nobody else's, so that a node cannot be taken for another one.
fn name(folder: &Path) -> String {
    folder.file_name().unwrap().to_string_lossy().into_owned()
}

fn map_ports(folder: &Path, port: u16) -> Child {
    let mut mapper = as_user(USER, Path::new("epmd"));
    mapper.args(["-address", "127.0.0.1", "-port", &port.to_string()]);
    spawn(&mut mapper, folder)
}

fn serve(folder: &Path, ports: &Ports) -> Child {
    // Not the wrapper in the path, which wants to be root or rabbitmq.
    let mut node = as_user(USER, Path::new("/usr/lib/rabbitmq/bin/rabbitmq-server"));
    // Nothing that this machine has set for a broker of its own.
    node.env_clear();
    node.envs(["PATH", "LANG"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    for (name, value) in [
        ("RABBITMQ_NODENAME", format!("{}@localhost", name(folder))),
        ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1".to_owned()),
        ("RABBITMQ_NODE_PORT", ports.clients.to_string()),
        ("RABBITMQ_DIST_PORT", ports.nodes.to_string()),
        ("ERL_EPMD_PORT", ports.mapper.to_string()),
        ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
        ("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1".to_owned()),
        ("RABBITMQ_LOGS", "-".to_owned()),
        // The node is then this very process, and no child of a script: signals reach it.
        ("RUNNING_UNDER_SYSTEMD", "1".to_owned()),
    ] {
        node.env(name, value);
    }
    for (name, file) in [
        ("HOME", ""),
        ("RABBITMQ_MNESIA_BASE", "data"),
        ("RABBITMQ_LOG_BASE", "logs"),
        ("RABBITMQ_SCHEMA_DIR", "schema"),
        ("RABBITMQ_GENERATED_CONFIG_DIR", "generated"),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", "plugins"),
        ("RABBITMQ_CONFIG_FILE", "node.config"),
        ("RABBITMQ_CONF_ENV_FILE", "environment"),
        ("RABBITMQ_PID_FILE", "pid"),
    ] {
        node.env(name, folder.join(file));
    }
    spawn(&mut node, folder)
}
