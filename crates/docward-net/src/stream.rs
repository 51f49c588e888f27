//! A byte stream to a server or client: TCP, TLS or a Unix socket.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::{TcpStream, UnixStream},
    time::sleep,
};
use tokio_rustls::TlsStream;

use crate::{tls::TlsClient, topology::Address};

/// A byte stream to a server or client.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Plain(TcpStream),
    /// TLS over TCP.
    Tls(Box<TlsStream<TcpStream>>),
    /// A Unix socket.
    Unix(UnixStream),
}

/// A connection that is idle for this long, plus up to [`KEEPALIVE_SPREAD`] seconds, is probed. Three lost probes close it.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// Connections are probed at different times, because the kernel drops packets when thousands are probed at once.
const KEEPALIVE_SPREAD: u16 = 30;
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_TRIES: u32 = 3;
/// Maximum time that sent data may stay unacknowledged. Linux also applies this to probes: a shorter time would close
/// an idle connection after a single lost probe.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(120);

/// The interval at which [`Stream::left`] checks whether a socket with unread data was closed.
const POLL: Duration = Duration::from_secs(1);

/// Opens a TCP connection, with TLS if `tls` is given.
pub async fn connect(address: &Address, tls: Option<&TlsClient>) -> io::Result<Stream> {
    let (host, port) = address.parts();
    let stream = TcpStream::connect((host, port)).await?;
    tune(&stream)?;
    match tls {
        Some(tls) => tls.wrap(host, stream).await.map(Stream::from),
        None => Ok(Stream::Plain(stream)),
    }
}

/// Sets the options of a TCP connection: no delay, keepalive, and on Linux a time limit for unacknowledged data.
pub fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = socket2::SockRef::from(stream);
    let spread = stream.peer_addr().map_or(0, |peer| peer.port() % KEEPALIVE_SPREAD);
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(KEEPALIVE + Duration::from_secs(spread.into()))
        .with_interval(KEEPALIVE_INTERVAL)
        .with_retries(KEEPALIVE_TRIES);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))?;
    Ok(())
}

impl Stream {
    /// Waits until there are bytes to read. Returns at once for TLS, because only a read can tell
    /// whether decrypted bytes are available.
    pub async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.readable().await,
            Self::Unix(stream) => stream.readable().await,
            Self::Tls(_) => Ok(()),
        }
    }

    /// Waits until the peer closes the connection. Data that arrives first stays unread.
    pub async fn left(&self) {
        loop {
            let ready = match self {
                Self::Plain(stream) => stream.ready(Interest::READABLE).await,
                Self::Tls(stream) => stream.get_ref().0.ready(Interest::READABLE).await,
                Self::Unix(stream) => stream.ready(Interest::READABLE).await,
            };
            match ready {
                // The unread data may be a TLS `close_notify` or the next command. Only polling
                // shows when the socket is closed.
                Ok(ready) if !ready.is_read_closed() => sleep(POLL).await,
                _ => return,
            }
        }
    }

    /// Returns the subject of the peer's certificate in the form that MongoDB servers use.
    pub fn subject(&self) -> Option<Box<str>> {
        let Self::Tls(stream) = self else { return None };
        let shown = stream.get_ref().1.peer_certificates()?.first()?;
        crate::tls::subject(shown)
    }

    /// Whether an idle connection cannot be used: the peer closed it, or sent unexpected bytes.
    pub fn is_stale(&self) -> bool {
        let mut byte = [0];
        let peeked = match self {
            Self::Plain(stream) => stream.try_read(&mut byte),
            Self::Unix(stream) => stream.try_read(&mut byte),
            Self::Tls(stream) => stream.get_ref().0.try_read(&mut byte),
        };
        !matches!(peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl From<TlsStream<TcpStream>> for Stream {
    fn from(stream: TlsStream<TcpStream>) -> Self {
        Self::Tls(Box::new(stream))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(context),
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{io::AsyncWriteExt, net::TcpListener, time::timeout};

    #[tokio::test]
    async fn px_4_a_close_is_seen_behind_unread_data() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let tcp = tokio::join!(TcpStream::connect(address), listener.accept());
        let pairs = [
            (Stream::Unix(ours), Stream::Unix(theirs)),
            (Stream::Plain(tcp.1.unwrap().0), Stream::Plain(tcp.0.unwrap())),
        ];
        for (ours, mut theirs) in pairs {
            // A TLS client that shuts down cleanly does the same.
            theirs.write_all(b"close_notify").await.unwrap();
            assert!(timeout(Duration::from_millis(10), ours.left()).await.is_err());
            drop(theirs);
            ours.left().await;
        }
    }
}
