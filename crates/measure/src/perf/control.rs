//! Control messages between the two ends, as JSON lines over TCP.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;
use whimbrel_relay::text::quoted;

use super::meter::ReceiverFigures;
use super::plan::Plan;
use super::sender::SenderFigures;

/// The version of the messages; a change of them changes it.
pub(crate) const VERSION: u32 = 7;
/// The longest line accepted: a report of a thousand streams fits.
const LONGEST_LINE: u64 = 1 << 20;

/// Time limit for sending a message: an end that does not read must not hold the other.
const SEND_TIME: Duration = Duration::from_secs(5);

/// One line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum Message {
    /// Client: requests a test.
    Hello { version: u32, plan: Plan },
    /// Server: accepts; plain UDP streams go to these ports, one each, DCCP to that DCCP port, and without
    /// UDP to one of these addresses, or to the server's own if there are none.
    Welcome { udp_ports: Vec<u16>, dccp_port: u16, native: Vec<IpAddr> },
    /// Server: refuses, with the reason.
    Refusal { reason: String },
    /// Server: all data connections are open. The test begins.
    Start,
    /// Server: figures of the last interval, all streams together.
    Interval { received: ReceiverFigures, sent: SenderFigures },
    /// Server: it has sent as many bytes as the plan has it send.
    Sent,
    /// Client: the test has ended, or Ctrl-C was pressed.
    Stop,
    /// Server: figures of the whole test, by stream; empty lists for an unused direction.
    Report { received: Vec<ReceiverFigures>, sent: Vec<SenderFigures> },
    /// Client, first line of a new connection after the link was down: resumes, with the number of intervals
    /// received.
    Resume { token: u64, intervals: u64 },
    /// Client, first and only line of a TCP data connection.
    TcpStream { token: u64, stream: u16 },
}

/// The reading half.
#[derive(Debug)]
pub(crate) struct Reader {
    lines: BufReader<OwnedReadHalf>,
    /// The beginning of a line whose rest has not arrived yet.
    line: Vec<u8>,
}

/// The writing half.
#[derive(Debug)]
pub(crate) struct Writer {
    half: OwnedWriteHalf,
}

/// Splits a connection.
pub(crate) fn halves(stream: TcpStream) -> (Reader, Writer) {
    let _ = stream.set_nodelay(true);
    let (read, write) = stream.into_split();
    (Reader { lines: BufReader::new(read), line: Vec::new() }, Writer { half: write })
}

impl Reader {
    /// The next message; `None` at the end of the connection. Cancel safe.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<Message>> {
        let room = LONGEST_LINE.saturating_sub(self.line.len() as u64);
        (&mut self.lines).take(room).read_until(b'\n', &mut self.line).await?;
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') {
            bail!("the other end sent an unfinished or overlong line: it does not speak whimbrel perf");
        }
        let message = serde_json::from_slice(&line)
            .map_err(|error| anyhow!(quoted(&error.to_string())))
            .context("the other end does not speak this version of whimbrel perf")?;
        Ok(Some(message))
    }

    /// Joins the halves again, for a connection that carries data. Only complete lines were received so far.
    pub(crate) fn reunite(self, writer: Writer) -> anyhow::Result<TcpStream> {
        Ok(self.lines.into_inner().reunite(writer.half)?)
    }
}

impl Writer {
    /// Sends a message.
    ///
    /// # Errors
    /// The connection is broken, or the other end does not read.
    pub(crate) async fn send(&mut self, message: &Message) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let sending = timeout(SEND_TIME, self.half.write_all(&line));
        sending
            .await
            .context("the other end does not read the control connection")?
            .context("the control connection broke")
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_line_that_comes_in_pieces_is_read_whatever_happens_between() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut sending = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut reader, _writer) = halves(listener.accept().await.unwrap().0);
        for piece in ["{\"is\":", "\"st", "op\"}\n{\"is\":\"start\"}\n"] {
            sending.write_all(piece.as_bytes()).await.unwrap();
            if !piece.ends_with('\n') {
                let wait = tokio::time::timeout(Duration::from_millis(20), reader.next()).await;
                assert!(wait.is_err(), "{wait:?}");
            }
        }
        assert_eq!(reader.next().await.unwrap(), Some(Message::Stop));
        assert_eq!(reader.next().await.unwrap(), Some(Message::Start));
        drop(sending);
        assert_eq!(reader.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn lines_of_other_protocols_are_refused() {
        for wrong in [&b"GET / HTTP/1.1\r\n\r\n"[..], &vec![b'x'; 2 << 20]] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut sending = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (mut reader, _writer) = halves(listener.accept().await.unwrap().0);
            let wrong = wrong.to_vec();
            tokio::spawn(async move { sending.write_all(&wrong).await });
            assert!(reader.next().await.unwrap_err().to_string().contains("does not speak"));
        }
    }
}
