//! Servers of one test's own: they go away and come back, and nothing of them outlives the test.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use inbox_tests::{
    TestDb, backends, child,
    private::{Database, RabbitMq},
};
use sea_orm::{ConnectionTrait as _, Statement};

#[tokio::test]
async fn a_broker_goes_away_and_comes_back() {
    let mut broker = RabbitMq::new().await;
    let url = broker.url();
    assert!(answers(&url));
    broker.kill();
    assert!(!answers(&url));
    broker.start().await;
    assert!(answers(&url) && broker.url() == url);
    broker.stop();
    assert!(!answers(&url));
    broker.start().await;
    assert!(answers(&url) && broker.url() == url);

    let processes = broker.processes();
    let names: Vec<_> = processes.iter().map(|process| name(*process).unwrap()).collect();
    for expected in ["beam.smp", "erl_child_setup", "inet_gethost", "epmd"] {
        assert!(names.iter().any(|name| name == expected), "no {expected}: {names:?}");
    }
    drop(broker);
    assert!(!answers(&url));
    assert_eq!(living(&processes), [0; 0]);
}

/// Starts a broker, tells its processes and its folder, and dies without a destructor.
#[tokio::test]
#[ignore = "runs only as the child process of crash tests"]
async fn child_main() {
    let file = child::argument("file");
    let mut broker = RabbitMq::new().await;
    fs::write(file, serde_json::to_vec(&(broker.processes(), broker.folder())).unwrap()).unwrap();
    child::die();
}

#[tokio::test]
async fn a_broker_dies_with_the_test_program() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let ended = child::spawn("private::child_main", &[("file", file.path().to_str().unwrap())]).wait().await;
    assert!(ended.killed(), "{}", ended.output);
    let (processes, folder): (Vec<u32>, PathBuf) = serde_json::from_slice(&fs::read(file.path()).unwrap()).unwrap();
    assert!(processes.len() > 3, "{processes:?}");
    let begun = Instant::now();
    while !living(&processes).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?} live on", living(&processes));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    fs::remove_dir_all(folder).unwrap();
}

backends! {
    [postgres, mysql]
    async fn a_database_stops_and_comes_back(db: TestDb) {
        let mut server = Database::new(db.backend()).await;
        let (url, pool) = (server.url(), server.pool().await);
        pool.execute_unprepared("CREATE TABLE kept (a int)").await.unwrap();
        pool.execute_unprepared("INSERT INTO kept VALUES (1)").await.unwrap();
        // A client that is connected does not hold it up.
        server.stop();
        assert!(TcpStream::connect(address(&url)).is_err());
        server.start().await;
        assert_eq!(server.url(), url);
        let row = pool.query_one_raw(Statement::from_string(db.backend().db_backend(), "SELECT COUNT(*) FROM kept")).await.unwrap();
        assert_eq!(row.unwrap().try_get_by_index::<i64>(0).unwrap(), 1);
        drop(server);
        assert!(TcpStream::connect(address(&url)).is_err());
    }
}

/// `host:port`.
fn address(url: &str) -> &str {
    url.split_once('@').and_then(|(_, rest)| rest.split_once('/')).unwrap().0
}

/// Whether something answers the header of AMQP 0.9.1 with a method.
fn answers(url: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(address(url)) else { return false };
    stream.write_all(b"AMQP\x00\x00\x09\x01").unwrap();
    let mut kind = [0];
    stream.read_exact(&mut kind).unwrap();
    kind == [1]
}

/// Those that are there, and no zombies that their parent has not waited for yet.
fn living(processes: &[u32]) -> Vec<u32> {
    processes.iter().copied().filter(|process| name(*process).is_some()).collect()
}

/// The process's name; none when it is dead.
fn name(process: u32) -> Option<String> {
    let stat = fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat")).ok()?;
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(") ")?;
    (!rest.starts_with(['Z', 'X'])).then(|| name.to_owned())
}
