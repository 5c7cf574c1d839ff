//! A folder that people edit: they write, rename and link while the service does.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use super::*;

/// How often a person edits a file.
const EDITS: usize = 300;

fn open(root: &Path) -> Folder {
    let opened = Folder::open(root, "t".into(), "default".into());
    opened.expect("opens")
}

fn path(text: &str) -> FilePath {
    FilePath::parse(text).expect("a path")
}

async fn put(folder: &Folder, at: &str, content: &str) -> Result<FileVersion, Error> {
    let turn = folder.turn().await;
    let at = path(at);
    let written = folder.put(&turn, &at, content, &Expected::Any);
    written.await
}

/// The names in a folder, hidden ones too.
fn names(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).expect("readable");
    let name = |entry: io::Result<fs::DirEntry>| {
        let name = entry.expect("readable").file_name();
        name.to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_file_is_written_byte_for_byte_and_nothing_is_left_beside_it() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = open(root.path());
    let content = "{\"z\": 1.500,  \"a\": 1e2}";
    let version = put(&folder, "/a b/c.json", content).await.expect("written");
    assert_eq!(version, read::version_of(content.as_bytes()));
    let on_disk = root.path().join("a b/c.json");
    assert_eq!(fs::read_to_string(&on_disk).expect("there"), content);
    fs::set_permissions(&on_disk, fs::Permissions::from_mode(0o640)).expect("changed");
    put(&folder, "/a b/c.json", "2").await.expect("written");
    let mode = fs::metadata(&on_disk).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640, "who could edit it can edit it further");
    assert_eq!(names(&root.path().join("a b")), ["c.json"]);
    let found = folder.find(&path("/a b/c.json")).await.expect("there");
    assert_eq!(&*found.content, "2");
}

#[tokio::test]
async fn what_could_not_be_read_afterwards_is_not_written() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = open(root.path());
    put(&folder, "/m.json", "1").await.expect("written");
    let long = format!("\"{}\"", "x".repeat(16 << 20));
    let refused = put(&folder, "/m.json", &long).await;
    assert!(
        matches!(refused, Err(Error::FileUnusable { .. })),
        "{refused:?}"
    );
    let found = folder.find(&path("/m.json")).await.expect("there");
    assert_eq!(&*found.content, "1");
}

#[tokio::test]
async fn a_change_is_based_on_a_version() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = open(root.path());
    let turn = folder.turn().await;
    let at = path("/a.json");
    let change = async |content: &str, expected: Expected| {
        let written = folder.put(&turn, &at, content, &expected);
        written.await
    };
    let is_modified =
        |outcome: Result<FileVersion, Error>| matches!(outcome, Err(Error::FileModified { .. }));
    assert!(is_modified(change("1", Expected::Present).await));
    let first = change("1", Expected::Absent).await.expect("written");
    assert!(is_modified(change("2", Expected::Absent).await));
    fs::write(root.path().join("a.json"), "by hand").expect("writes");
    assert!(is_modified(change("2", Expected::of(&first)).await));
    let kept = fs::read_to_string(root.path().join("a.json"));
    assert_eq!(kept.expect("there"), "by hand");
    let gone = folder.delete(&turn, &at, &Expected::of(&first)).await;
    assert!(matches!(gone, Err(Error::FileModified { .. })));
    folder
        .delete(&turn, &at, &Expected::Any)
        .await
        .expect("deleted");
    let gone = folder.delete(&turn, &at, &Expected::Any).await;
    assert!(matches!(gone, Err(Error::FileNotFound { .. })));
}

#[tokio::test]
async fn nothing_leads_out_of_the_folder() {
    let outside = tempfile::tempdir().expect("a folder");
    let root = tempfile::tempdir().expect("a folder");
    let secret = outside.path().join("secret.json");
    fs::write(&secret, "{\"secret\": 1}").expect("writes");
    symlink(&secret, root.path().join("link.json")).expect("links");
    symlink(outside.path(), root.path().join("away")).expect("links");
    symlink("/", root.path().join("all")).expect("links");
    symlink("..", root.path().join("above")).expect("links");
    fs::create_dir(root.path().join("real")).expect("makes");
    symlink("../real", root.path().join("real/inside")).expect("links");
    let folder = open(root.path());
    let hidden = ["/.git/config", "/a/.hidden"];
    for at in [
        "/link.json",
        "/away/secret.json",
        "/all/etc/passwd",
        "/above/x",
        "/real/inside/x",
    ]
    .into_iter()
    .chain(hidden)
    {
        let read = folder.find(&path(at)).await;
        assert!(
            matches!(read, Err(Error::FileNotFound { .. })),
            "{at}: {read:?}"
        );
        let written = put(&folder, at, "1").await;
        assert!(
            matches!(written, Err(Error::NotAFile { .. })),
            "{at}: {written:?}"
        );
    }
    let listed = folder.list("/", None, 100).await.expect("listed");
    assert!(listed.is_empty(), "{listed:?}");
    let kept = fs::read_to_string(&secret).expect("there");
    assert_eq!(kept, "{\"secret\": 1}");
    assert_eq!(names(outside.path()), ["secret.json"]);

    // A file that has a second name outside keeps its content there.
    fs::hard_link(&secret, root.path().join("hard.json")).expect("links");
    put(&folder, "/hard.json", "1").await.expect("written");
    let kept = fs::read_to_string(&secret).expect("there");
    assert_eq!(kept, "{\"secret\": 1}");
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_while_files_are_written_leads_nowhere() {
    let outside = tempfile::tempdir().expect("a folder");
    let root = tempfile::tempdir().expect("a folder");
    let folder = open(root.path());
    let inner = root.path().join("d");
    let aside = root.path().join("aside");
    let target = outside.path().to_owned();
    let swapping = std::thread::spawn(move || {
        for _ in 0..200 {
            let _ = fs::create_dir(&inner);
            let _ = fs::rename(&inner, &aside);
            let _ = symlink(&target, &inner);
            let _ = fs::remove_file(&inner);
            let _ = fs::remove_dir_all(&aside);
        }
    });
    let mut n = 0;
    while !swapping.is_finished() {
        n += 1;
        let _ = put(&folder, "/d/a.json", &n.to_string()).await;
    }
    swapping.join().expect("no panic");
    assert!(names(outside.path()).is_empty());
}

#[tokio::test]
async fn what_is_not_a_file_is_not_waited_for() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = open(root.path());
    let pipe = root.path().join("pipe.json");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("makes");
    fs::create_dir(root.path().join("folder.json")).expect("makes");
    let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket.json"));
    for at in ["/pipe.json", "/folder.json", "/socket.json"] {
        let read = folder.find(&path(at)).await;
        assert!(matches!(read, Err(Error::FileNotFound { .. })), "{at}");
        let written = put(&folder, at, "1").await;
        assert!(matches!(written, Err(Error::NotAFile { .. })), "{at}");
    }
    let below = put(&folder, "/pipe.json/a", "1").await;
    assert!(matches!(below, Err(Error::NotAFile { .. })));
    assert!(folder.list("/", None, 10).await.expect("listed").is_empty());
}

#[tokio::test]
async fn what_cannot_be_a_content_is_listed_and_not_read() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = open(root.path());
    fs::write(root.path().join("large.json"), vec![b' '; (16 << 20) + 1]).expect("writes");
    fs::write(root.path().join("half.json"), "{\"a\": ").expect("writes");
    fs::write(root.path().join("bytes.json"), [0xff, 0xfe]).expect("writes");
    fs::write(root.path().join("empty.json"), "").expect("writes");
    fs::write(root.path().join(".hidden.swp"), "{}").expect("writes");
    fs::write(root.path().join("backup.json~"), "{}").expect("writes");
    let listed = folder.list("/", None, 10).await.expect("listed");
    let paths: Vec<&str> = listed.iter().map(|file| &*file.path).collect();
    assert_eq!(
        paths,
        ["/bytes.json", "/empty.json", "/half.json", "/large.json"]
    );
    for at in paths {
        let read = folder.find(&path(at)).await;
        assert!(
            matches!(read, Err(Error::FileUnusable { .. })),
            "{at}: {read:?}"
        );
        put(&folder, at, "1").await.expect("it can be replaced");
    }
}

#[tokio::test]
async fn files_are_listed_by_path_in_pages() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = open(root.path());
    for at in ["/b/2", "/a", "/b/1", "/b-", "/ba", "/b/10"] {
        put(&folder, at, "1").await.expect("written");
    }
    let list = async |prefix: &str, after: Option<&str>, limit: usize| {
        let listed = folder.list(prefix, after, limit).await.expect("listed");
        let paths = listed.iter().map(|file| file.path.to_string());
        paths.collect::<Vec<_>>()
    };
    let all = ["/a", "/b-", "/b/1", "/b/10", "/b/2", "/ba"];
    assert_eq!(list("/", None, 100).await, all);
    assert_eq!(list("/b/", None, 100).await, ["/b/1", "/b/10", "/b/2"]);
    assert_eq!(list("/b/1", None, 100).await, ["/b/1", "/b/10"]);
    assert_eq!(list("/", Some("/b-"), 2).await, ["/b/1", "/b/10"]);
    assert!(list("/c", None, 100).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_write_at_the_same_moment_is_never_lost() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = open(root.path());
    put(&folder, "/a.json", "0").await.expect("written");
    let file = root.path().join("a.json");
    // A person whose editor replaces the file.
    let (aside, edited) = (root.path().join("edited"), file.clone());
    let person = std::thread::spawn(move || {
        for n in 1..=EDITS {
            fs::write(&aside, format!("\"person {n}\"")).expect("writes");
            fs::rename(&aside, &edited).expect("renames");
            // It is there, or somebody has read it before it was replaced.
            let mine = format!("person {n}\"");
            let begun = std::time::Instant::now();
            while !fs::read_to_string(&edited)
                .expect("always there")
                .ends_with(&mine)
            {
                assert!(begun.elapsed().as_secs() < 30, "{mine} is lost");
            }
        }
    });
    let turn = folder.turn().await;
    while !person.is_finished() {
        let found = folder.find_text(&path("/a.json")).await.expect("there");
        let mine = found.content.trim_matches('"');
        let mine = mine.rsplit("after ").next().unwrap_or_default();
        let mine = format!("\"after {mine}\"");
        let expected = Expected::of(&found.version);
        match folder.put(&turn, &path("/a.json"), &mine, &expected).await {
            Ok(_) | Err(Error::FileModified { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    person.join().expect("nothing is lost");
    let last = fs::read_to_string(&file).expect("there");
    assert!(last.ends_with(&format!("person {EDITS}\"")), "{last}");
    assert_eq!(names(root.path()), ["a.json"]);
}

#[tokio::test]
async fn one_process_uses_a_folder_and_clears_up_after_the_one_before() {
    let root = tempfile::tempdir().expect("a folder");
    fs::create_dir(root.path().join("d")).expect("makes");
    fs::write(root.path().join("d/.interlock-1-1.tmp"), "half").expect("writes");
    fs::write(root.path().join("d/.other.tmp"), "kept").expect("writes");
    let folder = open(root.path());
    assert_eq!(names(&root.path().join("d")), [".other.tmp"]);
    let second = Folder::open(root.path(), "t".into(), "default".into());
    assert!(matches!(second, Err(FolderError::InUse(_))));
    drop(folder);
    open(root.path());
    let file = root.path().join("file");
    fs::write(&file, "").expect("writes");
    let no_folder = Folder::open(&file, "t".into(), "default".into());
    assert!(matches!(no_folder, Err(FolderError::Unusable { .. })));
}
