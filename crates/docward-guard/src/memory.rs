//! The memory limit for messages. When it is reached, the guard stops reading from clients until other commands end.
//! Clients see a slow network and no error.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Counts the bytes of messages in memory against a limit.
#[derive(Debug)]
pub(crate) struct Memory {
    limit: AtomicUsize,
    used: AtomicUsize,
    freed: Notify,
}

impl Memory {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: AtomicUsize::new(limit), used: AtomicUsize::new(0), freed: Notify::new() }
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
        self.freed.notify_waiters();
    }

    /// Waits until the count is below the limit.
    pub(crate) async fn room(&self) {
        while self.used() >= self.limit() {
            let freed = self.freed.notified();
            // `freed` misses memory that was freed before it existed, so check again.
            if self.used() < self.limit() {
                return;
            }
            freed.await;
        }
    }

    /// Counts the bytes of a message until the returned value is dropped.
    pub(crate) fn hold(&self, bytes: usize) -> Held<'_> {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Held { memory: self, bytes }
    }
}

/// Bytes that are counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Held<'m> {
    memory: &'m Memory,
    bytes: usize,
}

impl Held<'_> {
    /// Counts more bytes, such as those of the reply.
    pub(crate) fn and(&mut self, bytes: usize) {
        self.memory.used.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let before = self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
        if before >= self.memory.limit() {
            self.memory.freed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::Arc, time::Duration};
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn clients_wait_until_memory_is_freed() {
        let memory = Arc::new(Memory::new(100));
        memory.room().await;
        let mut first = memory.hold(60);
        memory.room().await;
        first.and(50);
        assert!(timeout(Duration::from_secs(9), memory.room()).await.is_err());
        let waiting = tokio::spawn({
            let memory = Arc::clone(&memory);
            async move { memory.room().await }
        });
        tokio::task::yield_now().await;
        drop(first);
        waiting.await.unwrap();
        assert_eq!(memory.used(), 0);
        let _second = memory.hold(100);
        assert!(timeout(Duration::from_secs(9), memory.room()).await.is_err());
        memory.set_limit(101);
        memory.room().await;
    }
}
