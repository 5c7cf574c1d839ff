//! How fast batches get into `PostgreSQL`, whichever service sends them: the chain beside a clock
//! row that is locked.
//!
//! A writer judges a batch by what it knows as of one commit, so nothing may come in between. In
//! the chain that commit is named by `prev`, which is unique: one statement, which writes nothing
//! if it was overtaken; then the writer takes its turn, reads, and sends it again. With a clock row
//! the writer locks it, reads, writes and commits.

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};
use sqlx_postgres::PgConnection;
use uuid::Uuid;

use crate::process;

pub(crate) const NAME: &str = "chain";

const TABLES: &str = r#"
create table "commit"(seq bigint primary key, id uuid not null unique, prev bigint, t int not null,
  at bigint not null unique, author bigint not null);
create unique index commit_prev on "commit"(prev) where prev is not null;
create table entity(e bigint primary key, id uuid not null unique, m bigint not null, n bigint not null,
  state text not null, live boolean not null, created bigint not null);
create index entity_id_order on entity(m, id) where live;
create index entity_state on entity(m, state, id) where live;
create table version(n bigint primary key, e bigint not null, m bigint not null, seq bigint not null,
  kind bigint not null, state text not null, data text, record text);
create index version_entity on version(e, n);
create table turn(i int primary key);
create table clock(i int primary key, seq bigint not null, at bigint not null);
insert into "commit" values(1, gen_random_uuid(), null, 1, 1, 1);
insert into turn values(1);
insert into clock values(1, 1, 1)"#;

const MADE: &str = r"
made as (insert into entity select x.e, x.id, 1, x.n, 'NEW', true, 0 from head, unnest($3::bigint[], $2::uuid[], $4::bigint[]) x(e, id, n)),
written as (insert into version select x.n, x.e, 1, x.n + 1, 0, 'NEW', x.data, $6 from head, unnest($4::bigint[], $3::bigint[], $5::text[]) x(n, e, data))
select at from head";

const CHAIN: &str = r#"with head as (
  insert into "commit"(seq, id, prev, t, at, author)
  select $4[1] + 1, $2[1], $1, 1, greatest((extract(epoch from clock_timestamp()) * 1e6)::bigint, p.at + 1), 1
  from "commit" p where p.seq = $1 and not exists (select from "commit" where seq > $1)
  on conflict do nothing
  returning at),
rest as (insert into "commit"(seq, id, t, at, author) select c.n + 1, c.id, 1, head.at + c.i - 1, 1
  from head, unnest($4::bigint[], $2::uuid[]) with ordinality c(n, id, i) where c.i > 1),"#;

const CLOCK: &str = r#"with head as (
  update clock set seq = $1, at = greatest((extract(epoch from clock_timestamp()) * 1e6)::bigint, at + 1) + cardinality($2::uuid[])
  returning at - cardinality($2::uuid[]) as at),
rest as (insert into "commit"(seq, id, t, at, author) select c.n + 1, c.id, 1, head.at + c.i, 1
  from head, unnest($4::bigint[], $2::uuid[]) with ordinality c(n, id, i)),"#;

/// How writers follow each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Chain,
    Clock,
}

struct Writer {
    connection: PgConnection,
    chain: String,
    clock: String,
    /// The newest commit it knows.
    seq: i64,
    /// Whether another was first when it wrote last.
    overtaken: bool,
    documents: Vec<String>,
    record: String,
}

impl Writer {
    async fn open(url: &str, rows: usize) -> Self {
        let connection = PgConnection::connect(url).await.expect("connects");
        Self {
            connection,
            chain: format!("{CHAIN}{MADE}"),
            clock: format!("{CLOCK}{MADE}"),
            seq: 1,
            overtaken: false,
            documents: vec![format!(r#"{{"text":"{}"}}"#, "x".repeat(1_000)); rows],
            record: "r".repeat(200),
        }
    }

    /// Sends the batch; whether it was written.
    async fn send(&mut self, way: Way) -> bool {
        let rows = i64::try_from(self.documents.len()).expect("few");
        let positions: Vec<i64> = (0..rows).map(|row| self.seq + 1 + 2 * row).collect();
        let ids: Vec<Uuid> = positions.iter().map(|_| Uuid::now_v7()).collect();
        let last = self.seq + 2 * rows;
        let (text, first) = match way {
            Way::Chain => (&self.chain, self.seq),
            Way::Clock => (&self.clock, last),
        };
        let query = sqlx::query(AssertSqlSafe(text.clone()))
            .bind(first)
            .bind(ids)
            .bind(&positions)
            .bind(&positions)
            .bind(&self.documents)
            .bind(&self.record);
        let row = query.fetch_optional(&mut self.connection).await;
        let written = row.expect("answers").is_some();
        if written {
            self.seq = last;
        }
        written
    }

    /// Writes one batch, however often that takes.
    async fn write(&mut self, way: Way) {
        if way == Way::Chain && !self.overtaken {
            self.overtaken = !self.send(way).await;
            if !self.overtaken {
                return;
            }
        }
        let lock = match way {
            Way::Chain => {
                r#"begin; set local lock_timeout = '1s'; select i::bigint from turn for update;
                select seq from "commit" order by seq desc limit 1"#
            }
            Way::Clock => "begin; select i::bigint from clock for update; select seq from clock",
        };
        loop {
            let read = self.connection.fetch_all(lock).await.expect("reads");
            let newest: i64 = read.last().expect("a row").get(0);
            // Who wrote last is alone, as far as it knows.
            self.overtaken = newest != self.seq;
            self.seq = newest;
            let written = self.send(way).await;
            self.connection.execute("commit").await.expect("commits");
            if written {
                return;
            }
        }
    }
}

/// Prints how many rows a second each way writes.
#[expect(clippy::print_stdout, reason = "that is what it is for")]
pub(crate) async fn measure(span: Duration) {
    let server = process::postgres();
    let url = server.url("postgres");
    println!("creates a second in PostgreSQL, by rows in a batch\n");
    println!("| writers | way | 1 | 16 | 256 |\n|---|---|---|---|---|");
    for writers in [1, 3] {
        for (way, name) in [(Way::Chain, "chain"), (Way::Clock, "clock row")] {
            let mut line = format!("| {writers} | {name} |");
            for rows in [1, 16, 256] {
                let mut setup = PgConnection::connect(&url).await.expect("connects");
                let reset = "drop schema public cascade; create schema public";
                setup.execute(reset).await.expect("empties");
                setup.execute(TABLES).await.expect("makes");
                let mut tasks = Vec::new();
                for _ in 0..writers {
                    let mut writer = Writer::open(&url, rows).await;
                    tasks.push(tokio::spawn(async move {
                        let begun = Instant::now();
                        let mut written = 0_u128;
                        while begun.elapsed() < span {
                            writer.write(way).await;
                            written += rows as u128;
                        }
                        written
                    }));
                }
                let begun = Instant::now();
                let mut total = 0;
                for task in tasks {
                    total += task.await.expect("writes");
                }
                let each = total * 1_000 / begun.elapsed().as_millis();
                line = format!("{line} {each} |");
            }
            println!("{line}");
        }
    }
}
