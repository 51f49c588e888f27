//! A server process, which ends with the test that started it.
//!
//! A small shell script supervises the server. It starts the server and reads commands on its
//! standard input. The input closes when the test drops it, panics or is killed. The script then
//! kills the server by its process id and removes its directory, which is `…/member-*`. The shell
//! has not waited for the server at that time, so the id cannot have been reassigned to another
//! process.

use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use crate::patience::wait_for;

const SCRIPT: &str = r#"
trap '' INT TERM HUP
directory=$1
shift
start() { "$@" >>"$directory/output" 2>&1 </dev/null & server=$!; }
start "$@"
echo "$server"
while read -r order; do
    case $order in
        KILL) kill -KILL "$server"; wait "$server" ;;
        START) start "$@" ;;
        *) kill -"$order" "$server" ;;
    esac 2>/dev/null
    echo "$server"
done
kill -KILL "$server" 2>/dev/null
wait "$server" 2>/dev/null
rm -rf -- "$directory"
# The last of several servers takes what they had in common.
set -- "${directory%/*}"/member-*
[ -e "$1" ] || rm -rf -- "${directory%/*}"
"#;

/// The number of log lines that a failed test prints.
const SHOWN: usize = 40;

/// A server and its supervisor.
#[derive(Debug)]
pub(crate) struct Supervised {
    shell: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    directory: PathBuf,
    /// The position in the log from which to search for the next event.
    seen: usize,
}

/// The reason why a server did not start.
#[derive(Debug)]
pub(crate) enum Down {
    /// Another process took the port.
    PortTaken,
    /// Another reason, with the end of the log.
    Other(String),
}

impl Supervised {
    /// The directory of the server's files.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Starts `program` in its own directory, which is removed at the end.
    pub(crate) fn start(
        directory: PathBuf,
        program: &Path,
        arguments: &[String],
    ) -> Result<Self, Down> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "docward-testkit"])
            .arg(&directory)
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh can be started");
        let orders = shell.stdin.take();
        let answers = BufReader::new(shell.stdout.take().expect("stdout is a pipe"));
        let mut server = Self { shell, orders, answers, directory, seen: 0 };
        server.answer();
        server.wait_until_up()?;
        Ok(server)
    }

    /// Sends a signal by its name without `SIG`; `KILL` also waits for the process to end.
    pub(crate) fn signal(&mut self, name: &str) {
        let orders = self.orders.as_mut().expect("orders are taken until the drop");
        writeln!(orders, "{name}").expect("the supervisor lives");
        self.answer();
    }

    /// Restarts the server after a `KILL`, on the same data.
    pub(crate) fn restart(&mut self) {
        self.seen = self.log().len();
        self.signal("START");
        if let Err(down) = self.wait_until_up() {
            panic!("the server did not come up again: {down:?}");
        }
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the supervisor lives");
        line.trim().to_owned()
    }

    fn log(&self) -> String {
        let bytes = std::fs::read(self.directory.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn wait_until_up(&mut self) -> Result<(), Down> {
        wait_for("the server does not come up", || {
            let log = self.log();
            let new = log.get(self.seen..).unwrap_or_default();
            if new.contains("\"msg\":\"Waiting for connections\"") {
                return Some(Ok(()));
            }
            if new.contains("Address already in use") {
                return Some(Err(Down::PortTaken));
            }
            let output = std::fs::read_to_string(self.directory.join("output")).unwrap_or_default();
            let failed = new.contains("\"msg\":\"Now exiting\"") || output.contains("rror");
            failed.then(|| Err(Down::Other(format!("{output}{}", self.end_of_log()))))
        })
    }

    /// The last lines of the log.
    pub(crate) fn end_of_log(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(SHOWN)..].iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        })
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        if std::thread::panicking() {
            #[expect(clippy::print_stderr, reason = "a failed test shows what its server said")]
            {
                eprintln!("end of {}/log:\n{}", self.directory.display(), self.end_of_log());
            }
        }
        self.orders = None;
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_start_says_why() {
        let common = tempfile::tempdir().expect("a directory");
        let directory = common.path().join("member-0");
        std::fs::create_dir(&directory).expect("it is new");
        let arguments = ["--no-such-option".to_owned()];
        let down = Supervised::start(directory.clone(), crate::mongod(), &arguments).unwrap_err();
        assert!(matches!(&down, Down::Other(text) if text.contains("no-such-option")), "{down:?}");
        assert!(!directory.exists() && !common.path().exists());
    }
}
