//! A log that nobody reads: a terminal that stands still, a reader that hangs.

use std::{
    io::Write as _,
    net::{Ipv4Addr, SocketAddr},
    process::{Child, Command, Stdio},
};

use tokio::time::timeout;

use crate::support::{PATIENCE, Rest, command, postgres::free_port, wait::until};

/// A process that is killed at the latest when this is dropped.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_log_that_nobody_reads_holds_up_neither_requests_nor_the_stop() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_unread, full) = std::io::pipe().expect("a pipe");
    let mut filling = full.try_clone().expect("a copy");
    // The pipe is full until the end of the test, which ends this thread.
    std::thread::spawn(move || while filling.write_all(&[b'x'; 4_096]).is_ok() {});
    let [http, admin] = [free_port(), free_port()];
    let ports = [http, admin].map(|port| port.to_string());
    let settings = [
        ("CYODA_STORAGE_BACKEND", "memory"),
        ("CYODA_HTTP_PORT", ports[0].as_str()),
        ("CYODA_ADMIN_PORT", ports[1].as_str()),
    ];
    let child = command(folder.path(), &settings)
        .stdin(Stdio::null())
        .stdout(full)
        .stderr(Stdio::null())
        .spawn();
    let mut started = Started(child.expect("starts"));
    let rest = |port| Rest::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let (rest, admin) = (rest(http), rest(admin));
    until("it is ready", async || {
        let answer = timeout(PATIENCE, admin.try_get("/readyz")).await;
        answer
            .expect("answered")
            .is_some_and(|status| status == 200)
    })
    .await;
    for n in 0..100 {
        let level = ["debug", "info"][n % 2];
        let change = format!(r#"{{"level":"{level}"}}"#);
        let changed = rest.post("/api/admin/log-level", change);
        let changed = timeout(PATIENCE, changed).await;
        changed.expect("nobody waits for the log").ok();
    }
    let asked = Command::new("kill")
        .arg(started.0.id().to_string())
        .status();
    assert!(asked.expect("kill runs").success());
    until("it has ended", async || {
        let ended = started.0.try_wait().expect("a child");
        ended.is_some_and(|status| status.code() == Some(0))
    })
    .await;
}
