//! Runs the guard of the real binary for a test.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread,
};

use super::signal;

/// A running guard, which ends when this is dropped.
pub(crate) struct Guard {
    process: Option<Child>,
    pub(crate) address: String,
    /// The admin address.
    admin: Option<String>,
    rest: Option<thread::JoinHandle<String>>,
}

impl Guard {
    /// Starts a guard on a free port and waits until it accepts clients.
    pub(crate) fn start(upstream: &str, more: &[&str]) -> Self {
        let mut process = Command::new(assert_cmd::cargo::cargo_bin("docward"))
            .args(["guard", "--upstream", upstream])
            .args(if more.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] })
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(process.stderr.take().unwrap());
        let (mut said, mut admin) = (String::new(), None);
        let address = loop {
            let mut line = String::new();
            assert!(errors.read_line(&mut line).unwrap() > 0, "it ended: {said}");
            if let Some(address) = line.strip_prefix("operators: http://") {
                admin = Some(address.trim().trim_end_matches('/').to_owned());
            }
            if let Some(address) = line.strip_prefix("listening on ") {
                break address.split_whitespace().next().unwrap().to_owned();
            }
            said.push_str(&line);
        };
        let rest = thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            text
        });
        Self { process: Some(process), address, admin, rest: Some(rest) }
    }

    pub(crate) fn uri(&self) -> String {
        format!("mongodb://{}/?serverSelectionTimeoutMS=60000", self.address)
    }

    pub(crate) fn uri_as(&self, user: &str, password: &str) -> String {
        format!("mongodb://{user}:{password}@{}/?serverSelectionTimeoutMS=60000", self.address)
    }

    /// Returns the admin address.
    pub(crate) fn admin(&self) -> &str {
        self.admin.as_deref().unwrap()
    }

    /// Sends a request to the admin address. Returns the status and the text.
    pub(crate) fn ask(&self, method: &str, path: &str) -> (u16, String) {
        self.ask_with(method, path, "")
    }

    /// Sends a request with additional header lines.
    pub(crate) fn ask_with(&self, method: &str, path: &str, head: &str) -> (u16, String) {
        let host = self.admin();
        let mut stream = TcpStream::connect(host).unwrap();
        let head = if head.contains("Host:") {
            head.to_owned()
        } else {
            format!("Host: {host}\r\n{head}")
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{head}Content-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    /// Returns the state from the admin address.
    pub(crate) fn state(&self) -> serde_json::Value {
        serde_json::from_str(&self.ask("GET", "/state").1).unwrap()
    }

    /// Sends a signal to the guard.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.process.as_ref().unwrap(), name);
    }

    /// Ends the guard. Returns its exit code and its output since it began to listen.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut process = self.process.take().unwrap();
        signal(&process, "TERM");
        let status = process.wait().unwrap();
        (status.code(), self.rest.take().unwrap().join().unwrap())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
