# The policy that a manifest resolves to, as the service does it at boot, and what
# was clamped on the way. `mkmanifest policy` writes it.
#
# Evolution: append only. A field keeps its number, type and unit for ever; a
# new one takes the next number. A reader of an older record sees the default
# of a newer field, so every default means "none" or "not known".
#
# Limits are counts, bytes or milliseconds as the field name ends. No limit is
# written as 0: what is unlimited has a union member that says so. Names are
# those of the readback line on the console.

@0xf8396bf418b567a9;

enum Lane {
    # What a connection is charged to; fixed by the listener that accepted it.
    anonymous @0;
    localHealth @1;
    providerHealth @2;
}

struct Rate {
    # A bound over time: a token bucket.
    union {
        unknown @0 :Void;
        budget :group {
            perSecond @1 :UInt32;
            burst @2 :UInt32;
        }
        exempt @3 :Void;
        # Declared exempt; only a loopback lane may be.
        unmetered @4 :Void;
        # No budget by design: the public lane.
    }
}

struct LanePolicy {
    enabled @0 :Bool;
    # False: the lane's listener was not granted, so the lane does not exist,
    # and every other field of this record is unset.

    slots @1 :UInt64;
    # The most slots that this lane can reach, reserve and general pool together.
    slotReserve @2 :UInt64;
    # Slots that no other lane is ever charged for.
    queue @3 :UInt64;
    # Admitted requests that may wait for a slot.
    conns @4 :UInt64;
    connReserve @5 :UInt64;
    refusals @6 :UInt64;
    # Refused connections that may be answered at once.
    perConnection @7 :UInt64;
    # Requests in flight on one connection.
    footprintBytes @8 :UInt64;
    # What one admitted request is charged for, worst case.
    deadlineMs @9 :UInt64;
    # From admission, absolute, never extended.
    requestRate @10 :Rate;
    acceptRate @11 :Rate;

    headMs @12 :UInt64;
    bodyMs @13 :UInt64;
    writeMs @14 :UInt64;
    idleMs @15 :UInt64;
    # Phases of a connection: request head, body, answer, idle keep-alive.
}

struct Policy {
    slots @0 :UInt64;
    # The general pool and every reserve together.
    generalSlots @1 :UInt64;
    conns @2 :UInt64;
    generalConns @3 :UInt64;
    bytes @4 :UInt64;
    # Held by requests in flight, over all lanes.
    refusalMs @5 :UInt64;
    # Longest time to answer a refused connection.
    drainMs @6 :UInt64;
    # How long a drained service still takes public connections.

    anonymous @7 :LanePolicy;
    localHealth @8 :LanePolicy;
    providerHealth @9 :LanePolicy;

    clamped @10 :List(Text);
    # What was asked above the structural maximum and cut to it, as
    # `total_slots`, in the words of the readback line.
}
