//! A byte stream from any source, with lookahead, decompression on demand, and a byte count.

use std::{
    cell::Cell,
    fs::File,
    io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom},
    path::Path,
    rc::Rc,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use flate2::bufread::GzDecoder;

/// The size of a compressed chunk.
const PACKED_CHUNK: usize = 256 * 1024;
/// The size of a chunk of standard input.
const STDIN_CHUNK: usize = 1024 * 1024;

/// A stream of bytes.
pub(crate) struct Stream<'a> {
    reader: Box<dyn Read + 'a>,
    /// Bytes that were peeked and not yet read.
    head: Vec<u8>,
    head_at: usize,
    /// The reader's state after the peeked bytes, if that was an end or a failure.
    after_head: Option<End>,
    /// Bytes taken from the source, before decompression.
    raw: Rc<Cell<u64>>,
    /// The size of the source in bytes, if known.
    raw_length: Option<u64>,
    /// Bytes of progress per raw byte.
    scale: f64,
    reported: f64,
    packed: bool,
    /// The underlying file, if the stream is a plain file from its beginning. It shares its file
    /// position with the reader.
    file: Option<File>,
}

/// The reason why [`Stream::fill`] stopped.
#[derive(Debug)]
pub(crate) enum End {
    /// The buffer is full.
    Full,
    /// The stream has ended.
    Eof,
    /// The stream cannot be read any further.
    Failed(io::Error),
}

impl<'a> Stream<'a> {
    /// Opens a file.
    pub(crate) fn open(path: &Path) -> io::Result<Stream<'static>> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let length = metadata.is_file().then_some(metadata.len());
        let handle = length.and_then(|_| file.try_clone().ok());
        let mut stream = Stream::new(file, length, 1.0);
        stream.file = handle;
        Ok(stream)
    }

    /// Wraps any reader. `scale` is the progress per byte.
    pub(crate) fn new(reader: impl Read + 'a, length: Option<u64>, scale: f64) -> Self {
        let raw = Rc::new(Cell::new(0));
        Self {
            reader: Box::new(Counted { reader, count: Rc::clone(&raw) }),
            head: Vec::new(),
            head_at: 0,
            after_head: None,
            raw,
            raw_length: length,
            scale,
            reported: 0.0,
            packed: false,
            file: None,
        }
    }

    /// Standard input. A separate thread reads it, so that waiting for it can be interrupted.
    pub(crate) fn stdin(stop: &'a AtomicBool) -> Self {
        Self::new(Stdin::start(stop), None, 1.0)
    }

    /// The next bytes, up to `length` of them, without consuming them.
    pub(crate) fn peek(&mut self, length: usize) -> &[u8] {
        let have = self.head.len() - self.head_at;
        if have < length && self.after_head.is_none() {
            let mut head = self.head.split_off(self.head_at);
            head.resize(length, 0);
            let (got, end) = fill(&mut self.reader, &mut head[have..]);
            head.truncate(have + got);
            (self.head, self.head_at) = (head, 0);
            if !matches!(end, End::Full) {
                self.after_head = Some(end);
            }
        }
        let rest = &self.head[self.head_at..];
        &rest[..length.min(rest.len())]
    }

    /// The decompressed stream.
    pub(crate) fn gunzip(self) -> Self {
        let (raw, raw_length) = (Rc::clone(&self.raw), self.raw_length);
        let (scale, reported) = (self.scale, self.reported);
        let reader = Gunzip::new(BufReader::with_capacity(PACKED_CHUNK, self));
        Self {
            reader: Box::new(reader),
            head: Vec::new(),
            head_at: 0,
            after_head: None,
            raw,
            raw_length,
            scale,
            reported,
            packed: true,
            file: None,
        }
    }

    /// The underlying file, for other threads to read from; the caller must call [`Self::go_on_at`]
    /// afterwards.
    pub(crate) fn take_file(&mut self) -> Option<File> {
        self.file.take()
    }

    /// Skips the bytes that other threads have read.
    pub(crate) fn go_on_at(&mut self, mut file: &File, offset: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(offset))?;
        (self.head, self.head_at, self.after_head) = (Vec::new(), 0, None);
        self.raw.set(offset);
        // The other threads reported this progress.
        self.reported = offset as f64 * self.scale;
        Ok(())
    }

    /// Returns whether the stream is decompressed.
    pub(crate) fn is_packed(&self) -> bool {
        self.packed
    }

    /// Reads until the buffer is full or there is no more.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> (usize, End) {
        let rest = &self.head[self.head_at..];
        let from_head = rest.len().min(buffer.len());
        buffer[..from_head].copy_from_slice(&rest[..from_head]);
        self.head_at += from_head;
        if from_head == buffer.len() {
            return (from_head, End::Full);
        }
        if let Some(end) = self.after_head.take() {
            if matches!(end, End::Eof) {
                self.after_head = Some(End::Eof);
            }
            return (from_head, end);
        }
        let (got, end) = fill(&mut self.reader, &mut buffer[from_head..]);
        (from_head + got, end)
    }

    /// Bytes of progress since the last call.
    pub(crate) fn progress(&mut self) -> u64 {
        let now = (self.raw.get() as f64 * self.scale).floor();
        let made = now - self.reported;
        self.reported = now;
        made as u64
    }

    /// The number of bytes taken from the source, and its size.
    pub(crate) fn raw_position(&self) -> (u64, Option<u64>) {
        (self.raw.get(), self.raw_length)
    }
}

/// The decompressor reads the raw stream through this.
impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.head_at < self.head.len() {
            let (got, _) = {
                let rest = &self.head[self.head_at..];
                let got = rest.len().min(buffer.len());
                buffer[..got].copy_from_slice(&rest[..got]);
                (got, ())
            };
            self.head_at += got;
            return Ok(got);
        }
        match self.after_head.take() {
            Some(End::Failed(error)) => Err(error),
            Some(_) => {
                self.after_head = Some(End::Eof);
                Ok(0)
            }
            None => self.reader.read(buffer),
        }
    }
}

fn fill(reader: &mut dyn Read, buffer: &mut [u8]) -> (usize, End) {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => return (filled, End::Eof),
            Ok(got) => filled += got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, End::Failed(error)),
        }
    }
    (filled, End::Full)
}

/// The members of a gzip file one after another, as `gzip` itself reads them. Zeros after a member
/// are padding; any other data is an error that [`is_trailing_garbage`] recognises.
struct Gunzip<R: Read> {
    /// `None` only temporarily, and after a failure.
    member: Option<GzDecoder<BufReader<R>>>,
    /// True if a whole member has been read.
    has_member: bool,
    /// True if the current member has yielded bytes.
    has_bytes: bool,
}

/// Bytes after the last member of a gzip file.
#[derive(Debug, thiserror::Error)]
#[error("trailing garbage after the gzip stream")]
struct TrailingGarbage;

/// Returns whether decompression ended because other data follows the compressed data.
pub(crate) fn is_trailing_garbage(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<TrailingGarbage>())
}

impl<R: Read> Gunzip<R> {
    fn new(packed: BufReader<R>) -> Self {
        Self { member: Some(GzDecoder::new(packed)), has_member: false, has_bytes: false }
    }

    /// Continues with the next member; `false` at the end.
    fn next_member(&mut self, mut packed: BufReader<R>) -> io::Result<bool> {
        self.has_member = true;
        self.has_bytes = false;
        loop {
            let bytes = packed.fill_buf()?;
            let Some(&first) = bytes.first() else { return Ok(false) };
            if first == 0 {
                let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
                packed.consume(zeros);
                continue;
            }
            if first != 0x1f {
                return Err(io::Error::new(io::ErrorKind::InvalidData, TrailingGarbage));
            }
            self.member = Some(GzDecoder::new(packed));
            return Ok(true);
        }
    }
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(member) = &mut self.member else { return Ok(0) };
            match member.read(buffer) {
                Ok(0) => {
                    let Some(member) = self.member.take() else { return Ok(0) };
                    if !self.next_member(member.into_inner())? {
                        return Ok(0);
                    }
                }
                Ok(got) => {
                    self.has_bytes = true;
                    return Ok(got);
                }
                // No valid member header: other data follows the last member.
                Err(error)
                    if self.has_member
                        && !self.has_bytes
                        && error.kind() == io::ErrorKind::InvalidInput
                        && member.header().is_none() =>
                {
                    self.member = None;
                    return Err(io::Error::new(io::ErrorKind::InvalidData, TrailingGarbage));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

struct Counted<R> {
    reader: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(buffer)?;
        self.count.set(self.count.get() + got as u64);
        Ok(got)
    }
}

/// Standard input, read ahead by a thread. When `stop` is set, the stream ends, even while waiting;
/// the thread stays blocked until the process ends.
struct Stdin<'a> {
    pieces: mpsc::Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    at: usize,
    stop: &'a AtomicBool,
}

impl<'a> Stdin<'a> {
    fn start(stop: &'a AtomicBool) -> Self {
        let (sender, pieces) = mpsc::sync_channel(2);
        std::thread::spawn(move || {
            let mut input = io::stdin().lock();
            loop {
                let mut piece = vec![0; STDIN_CHUNK];
                let sent = match input.read(&mut piece) {
                    Ok(0) => return,
                    Ok(got) => {
                        piece.truncate(got);
                        sender.send(Ok(piece))
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                    Err(error) => {
                        let _ = sender.send(Err(error));
                        return;
                    }
                };
                if sent.is_err() {
                    return;
                }
            }
        });
        Self { pieces, piece: Vec::new(), at: 0, stop }
    }
}

impl Read for Stdin<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(0);
            }
            match self.pieces.recv_timeout(Duration::from_millis(100)) {
                Ok(piece) => (self.piece, self.at) = (piece?, 0),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        let rest = &self.piece[self.at..];
        let got = rest.len().min(buffer.len());
        buffer[..got].copy_from_slice(&rest[..got]);
        self.at += got;
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn read_all(stream: &mut Stream<'_>, piece: usize) -> (Vec<u8>, End) {
        let mut all = Vec::new();
        let mut buffer = vec![0; piece];
        loop {
            let (got, end) = stream.fill(&mut buffer);
            all.extend_from_slice(&buffer[..got]);
            if !matches!(end, End::Full) {
                return (all, end);
            }
        }
    }

    #[test]
    fn peeking_takes_nothing_away() {
        for piece in [1, 3, 5, 100] {
            let mut stream = Stream::new(&b"hello world"[..], Some(11), 1.0);
            assert_eq!(stream.peek(5), b"hello");
            assert_eq!(stream.peek(100), b"hello world");
            assert_eq!(stream.peek(2), b"he");
            let (all, end) = read_all(&mut stream, piece);
            assert_eq!(all, b"hello world");
            assert!(matches!(end, End::Eof));
            assert_eq!((stream.progress(), stream.progress()), (11, 0));
        }
    }

    #[test]
    fn gunzips_members_one_after_another() {
        let bytes = [packed(b"one "), packed(b"two")].concat();
        let mut stream = Stream::new(&bytes[..], None, 1.0);
        assert_eq!(stream.peek(2), [0x1f, 0x8b]);
        let mut stream = stream.gunzip();
        assert_eq!(stream.peek(3), b"one");
        assert_eq!(read_all(&mut stream, 2).0, b"one two");
        assert_eq!(stream.progress(), bytes.len() as u64);
    }

    #[test]
    fn zeros_after_a_member_are_padding_and_anything_else_is_garbage() {
        for zeros in [1, 511, 3 * PACKED_CHUNK] {
            let padded = [packed(b"one"), vec![0; zeros]].concat();
            let mut stream = Stream::new(&padded[..], None, 1.0).gunzip();
            let (all, end) = read_all(&mut stream, 2);
            assert_eq!(all, b"one");
            assert!(matches!(end, End::Eof), "{zeros} zeros: {end:?}");
        }
        let two = [packed(b"one "), vec![0; 512], packed(b"two")].concat();
        assert_eq!(read_all(&mut Stream::new(&two[..], None, 1.0).gunzip(), 2).0, b"one two");
        for garbage in [
            &b"garbage"[..],
            b"\x1fgarbage, much of it",
            b"\0\0\0garbage",
            b"\x1f\x8bgarbage......",
        ] {
            let bytes = [&packed(b"one")[..], garbage].concat();
            let (all, end) = read_all(&mut Stream::new(&bytes[..], None, 1.0).gunzip(), 2);
            assert_eq!(all, b"one");
            assert!(matches!(end, End::Failed(e) if is_trailing_garbage(&e)), "{garbage:?}");
        }
    }

    #[test]
    fn gzip_cut_short_gives_what_was_there_and_a_failure() {
        let text: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
        let bytes = packed(&text);
        let mut stream = Stream::new(&bytes[..bytes.len() / 2], None, 1.0).gunzip();
        let (all, end) = read_all(&mut stream, 4096);
        assert!(!all.is_empty() && text.starts_with(&all));
        assert!(matches!(end, End::Failed(error) if error.kind() == io::ErrorKind::UnexpectedEof));
    }
}
