//! Whole messages out of a stream, and into it.

use std::io;

use bytes::BytesMut;
use docward_wire::{Fault, Header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::stream::Stream;

/// A stream that is read message by message.
#[derive(Debug)]
pub struct Frames {
    stream: Stream,
    input: BytesMut,
    /// Messages follow each other closely: the buffer is worth keeping.
    is_busy: bool,
}

/// Why no message came.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The stream.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The bytes.
    #[error("{0}")]
    Fault(#[from] Fault),
    /// The other side closed within a message.
    #[error("the connection was closed within a message")]
    Cut,
    /// An answer to something that was not asked.
    #[error("the server answered something that was not asked")]
    OutOfStep,
}

/// Room for a usual message, and the step by which longer ones grow at first.
const STEP: usize = 4 * 1024;
/// The largest step.
const MOST_STEP: usize = 256 * 1024;

impl Frames {
    /// Takes a stream.
    pub fn new(stream: Stream) -> Self {
        Self { stream, input: BytesMut::new(), is_busy: false }
    }

    /// Takes a stream whose messages are waited for by somebody: it keeps its buffer.
    pub fn busy(stream: Stream) -> Self {
        Self { stream, input: BytesMut::new(), is_busy: true }
    }

    /// The stream itself.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether a part of the next message is there already.
    pub fn has_more(&self) -> bool {
        !self.input.is_empty()
    }

    /// Waits until a message begins. `false`: the other side closed.
    pub async fn wait(&mut self) -> Result<bool, ReadError> {
        if !self.input.is_empty() {
            return Ok(true);
        }
        if !self.is_busy {
            // Whoever waits long needs no memory for it.
            self.input = BytesMut::new();
            self.stream.readable().await?;
        }
        self.more(STEP).await
    }

    /// Reads so much of a message that its length is known.
    pub async fn begin(&mut self, most: usize) -> Result<usize, ReadError> {
        loop {
            if let Some(head) = self.input.first_chunk() {
                return Ok(Header::parse(head, most)?.length);
            }
            if !self.more(STEP).await? {
                return Err(ReadError::Cut);
            }
        }
    }

    /// The next message, as a whole, header included. `None`: the other side closed between two messages.
    pub async fn read(&mut self, most: usize) -> Result<Option<BytesMut>, ReadError> {
        self.read_counted(most, |_| {}).await
    }

    /// The same; `grew` hears of the bytes as they come.
    pub async fn read_counted(
        &mut self,
        most: usize,
        mut grew: impl FnMut(usize),
    ) -> Result<Option<BytesMut>, ReadError> {
        if !self.wait().await? {
            return Ok(None);
        }
        loop {
            if let Some(head) = self.input.first_chunk() {
                let length = Header::parse(head, most)?.length;
                if self.input.len() >= length {
                    return Ok(Some(self.input.split_to(length)));
                }
                // As much again as has come: a length alone makes nobody allocate.
                let before = self.input.len();
                let step = before.clamp(STEP, MOST_STEP).min(length - before);
                if !self.more(step).await? {
                    return Err(ReadError::Cut);
                }
                grew(self.input.len() - before);
            } else if !self.more(STEP).await? {
                return Err(ReadError::Cut);
            }
        }
    }

    async fn more(&mut self, room: usize) -> Result<bool, ReadError> {
        self.input.reserve(room);
        Ok(self.stream.read_buf(&mut self.input).await? > 0)
    }

    /// Writes a whole message.
    pub async fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        self.stream.write_all(frame).await?;
        self.stream.flush().await
    }

    /// Says goodbye.
    pub async fn close(&mut self) {
        let _ = self.stream.shutdown().await;
    }
}
