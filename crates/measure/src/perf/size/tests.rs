use super::*;

/// A path that carries `carries` bytes, and the datagrams that it carried.
struct Path {
    carries: usize,
    sizes: DatagramSize,
    carried: Vec<usize>,
}

impl Path {
    fn new(carries: usize) -> Self {
        Self { carries, sizes: DatagramSize::new(1200), carried: Vec::new() }
    }

    fn send(&self, datagram: &Bytes) -> anyhow::Result<()> {
        let (size, limit) = (datagram.len(), self.carries);
        if size <= limit {
            return Ok(());
        }
        let error = anyhow::Error::new(NetError::Send(SendError::TooLarge { size, limit }));
        Err(error.context("a hint"))
    }

    fn run(&mut self, count: u32) -> anyhow::Result<()> {
        for _ in 0..count {
            let mut datagram = Bytes::from(vec![0; self.sizes.next()]);
            while let Err(refusal) = self.send(&datagram) {
                datagram = self.sizes.cut(datagram, refusal)?;
            }
            self.carried.push(datagram.len());
        }
        Ok(())
    }
}

#[test]
fn a_path_that_shrinks_carries_smaller_datagrams_and_none_is_left_out() {
    let mut path = Path::new(1400);
    path.run(3).expect("it fits");
    path.carries = 1000;
    path.run(2).expect("less fits");
    path.carries = 548;
    path.run(2).expect("even less fits");
    assert_eq!(path.carried, [1200, 1200, 1200, 1000, 1000, 548, 548]);
}

#[test]
fn the_size_asked_for_comes_back_with_the_path() {
    let mut path = Path::new(1000);
    path.run(1).expect("less fits");
    path.carries = 1400;
    path.run(UNTIL_RETRY).expect("it fits");
    let smaller = path.carried.iter().filter(|size| **size == 1000).count();
    assert_eq!((smaller, path.carried.last()), (UNTIL_RETRY as usize, Some(&1200)));
}

#[test]
fn a_path_too_narrow_for_any_datagram_and_other_refusals_are_errors() {
    let error = Path::new(20).run(1).expect_err("nothing fits");
    assert_eq!((limit(&error), error.to_string()), (Some(20), "a hint".to_owned()));
    let refusal = anyhow::Error::new(NetError::Send(SendError::Closed));
    assert!(DatagramSize::new(1200).cut(Bytes::from(vec![0; 1200]), refusal).is_err());
}
