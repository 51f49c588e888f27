//! Reads complete messages from a stream and writes them to it.

use std::io;

use bytes::BytesMut;
use docward_wire::{Fault, Header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::stream::Stream;

/// A stream of messages.
#[derive(Debug)]
pub struct Frames {
    stream: Stream,
    input: BytesMut,
    /// Whether messages follow each other closely, so that the buffer is kept between them.
    is_busy: bool,
}

/// Why no message could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Reading from or writing to the stream failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The bytes are not a valid message.
    #[error("{0}")]
    Fault(#[from] Fault),
    /// The connection was closed before the expected message was complete.
    #[error("the connection was closed before a complete message arrived")]
    Cut,
    /// The reply belongs to another request.
    #[error("the server's reply belongs to another request")]
    OutOfStep,
}

/// The initial size of the buffer, and the first step by which it grows for longer messages, in bytes.
const STEP: usize = 4 * 1024;
/// The largest step by which the buffer grows, in bytes.
const MAX_STEP: usize = 256 * 1024;

impl Frames {
    /// Wraps a stream that is often idle, such as that of a client. It has no buffer while it waits.
    pub fn new(stream: Stream) -> Self {
        Self { stream, input: BytesMut::new(), is_busy: false }
    }

    /// Wraps a stream that is rarely idle, such as that of a server. It keeps its buffer.
    pub fn busy(stream: Stream) -> Self {
        Self { stream, input: BytesMut::new(), is_busy: true }
    }

    /// Returns the stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether a part of the next message has arrived.
    pub fn has_more(&self) -> bool {
        !self.input.is_empty()
    }

    /// Waits until a message begins. Returns `false` if the peer closed the connection.
    pub async fn wait(&mut self) -> Result<bool, ReadError> {
        if !self.input.is_empty() {
            return Ok(true);
        }
        if !self.is_busy {
            // Most clients are idle most of the time; they should not hold a buffer.
            self.input = BytesMut::new();
            self.stream.readable().await?;
        }
        self.more(STEP).await
    }

    /// Reads the header of the next message and returns the message's length.
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

    /// Reads the next message, header included. Returns `None` if the peer closed the connection between messages.
    pub async fn read(&mut self, most: usize) -> Result<Option<BytesMut>, ReadError> {
        self.read_counted(most, |_| {}).await
    }

    /// Like [`Self::read`], and calls `grew` with the number of bytes whenever more of the message arrives.
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
                    let frame = self.input.split_to(length);
                    if length > MAX_STEP {
                        // Without this, the connection would keep a buffer of the size of its
                        // largest message.
                        self.input = BytesMut::from(&self.input[..]);
                    }
                    return Ok(Some(frame));
                }
                // The buffer at most doubles. A peer must not cause a large allocation merely by
                // declaring a length.
                let before = self.input.len();
                let step = before.clamp(STEP, MAX_STEP).min(length - before);
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

    /// Writes a message.
    pub async fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        self.stream.write_all(frame).await?;
        self.stream.flush().await
    }

    /// Closes the stream.
    pub async fn close(&mut self) {
        let _ = self.stream.shutdown().await;
    }
}
