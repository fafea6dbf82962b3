//! Why a card cannot be set up.

use core::fmt;
use virtio_drivers::transport::pci::VirtioPciError;

/// Why a card cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardError {
    /// Its list of PCI capabilities has no end.
    EndlessList,
    /// Its registers are said to lie where no card's can.
    Place,
    /// Its PCI side is otherwise not as virtio requires.
    Pci(VirtioPciError),
    /// It does not reset.
    Reset,
    /// It lacks a feature: a hardware address, or virtio 1.0.
    Features,
    /// It did not agree to features that it had offered.
    Refused,
    /// Its configuration never stands still.
    Unsteady,
    /// A queue cannot be set up, or its configuration cannot be read.
    Device(virtio_drivers::Error),
    /// There is no memory for its buffers.
    Memory,
}

impl CardError {
    /// One sentence for the console.
    const fn explain(&self) -> &'static str {
        match self {
            Self::EndlessList => "its list of PCI capabilities has no end",
            Self::Place => "its registers would lie where no card's can",
            Self::Pci(_) => "its PCI registers are not as virtio requires",
            Self::Reset => "it does not reset",
            Self::Features => "it has no hardware address or is older than virtio 1.0",
            Self::Refused => "it refused the features that it had offered",
            Self::Unsteady => "its configuration never stands still",
            Self::Device(_) => "a queue or its configuration cannot be used",
            Self::Memory => "no memory for its buffers",
        }
    }
}

impl fmt::Display for CardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "network card: {}", self.explain())?;
        match self {
            Self::Pci(error) => write!(f, ": {error}"),
            Self::Device(error) => write!(f, ": {error}"),
            _ => Ok(()),
        }
    }
}

impl From<VirtioPciError> for CardError {
    fn from(error: VirtioPciError) -> Self {
        Self::Pci(error)
    }
}

impl From<virtio_drivers::Error> for CardError {
    fn from(error: virtio_drivers::Error) -> Self {
        match error {
            virtio_drivers::Error::DmaError => Self::Memory,
            other => Self::Device(other),
        }
    }
}
