# Identity of the capabilities that one process holds (INV-DISTINCT).
#
# Evolution: append only. A method or field keeps its number and its type for
# ever; a new one takes the next number. Readers treat an absent field as its
# default, so every default here means "not known", never "granted".

@0x9c9215c16e33d13b;

interface CapDiscriminator {
    # Tells what the caller's own capability slots refer to. The kernel injects
    # one, under the CapSet name `discrim`, into every process that it grants a
    # `TcpListenAuthority`. It knows nothing but the caller's own table, so it
    # gives away no authority and reveals no other process.

    identify @0 (capId :UInt32) -> (objectId :UInt64, transportId :UInt32, port :UInt16, wildcard :Bool);
    # What slot `capId` of the caller refers to. `objectId` is unique among the
    # live objects of this boot and never 0. For a `TcpListenAuthority` or a
    # `TcpListener`, `transportId` is 0 for the loopback and n for the n-th NIC
    # in PCI order, `port` is the port it is bound to, and `wildcard` says that
    # it is reachable over every transport (`transportId` is then 0xffff).
    # For any other object they are 0xffff, 0 and false.
    # An empty slot is an `invalidArgument` exception.

    compare @1 (left :UInt32, right :UInt32) -> (same :Bool);
    # Whether two slots of the caller refer to one kernel object, under
    # whatever names. An empty slot is an `invalidArgument` exception.
}
