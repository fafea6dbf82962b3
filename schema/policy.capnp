# The policy that a service resolved at boot, and what it was clamped to.
#
# Evolution: append only. A field keeps its number, type and unit for ever; a
# new one takes the next number. A reader of an older record sees the default
# of a newer field, so every default means "none" or "not known".
#
# Limits are counts, bytes or milliseconds as the field name ends. No limit is
# written as 0: what is unlimited has a union member that says so.

@0xf8396bf418b567a9;

enum Lane {
    # What a connection is charged to; fixed by the listener that accepted it.
    anonymous @0;
    localHealth @1;
    providerHealth @2;
}

struct LanePolicy {
    enabled @0 :Bool;
    # False: the lane's listener was not granted, so the lane does not exist,
    # and every other field of this record is 0.

    slotsMax @1 :UInt32;
    # The most slots that this lane may hold, reserve and general pool together.
    slotsReserve @2 :UInt32;
    # Slots that no other lane is ever charged for.
    connsMax @3 :UInt32;
    connsReserve @4 :UInt32;
    # The same two, of connection permits.
    perConnectionMax @5 :UInt32;
    # Requests in flight on one connection.
    queueMax @6 :UInt32;
    # Tickets that wait for a slot.

    footprintBytes @7 :UInt64;
    # What one admitted request is charged for, worst case.
    deadlineMs @8 :UInt64;
    # From admission, absolute, never extended.

    rate :union {
        unknown @9 :Void;
        exempt @10 :Void;
        # Declared exempt; only a loopback lane may be.
        unmetered @11 :Void;
        # This lane has no rate budget by design (the public lane).
        bucket :group {
            perSecond @12 :UInt32;
            burst @13 :UInt32;
        }
    }

    headDeadlineMs @14 :UInt64;
    bodyDeadlineMs @15 :UInt64;
    writeDeadlineMs @16 :UInt64;
    idleDeadlineMs @17 :UInt64;
    # Phases of a connection: request head, body, response, idle keep-alive.
}

struct Clamp {
    # A quota of the manifest that was above the structural maximum.
    field @0 :Text;
    # The marker without its value, as `ingress_public_slots`.
    asked @1 :UInt64;
    granted @2 :UInt64;
}

struct Policy {
    slotsMax @0 :UInt32;
    # Effective slots: the general pool plus every reserve.
    generalSlots @1 :UInt32;
    connsMax @2 :UInt32;
    generalConns @3 :UInt32;
    bytesMax @4 :UInt64;
    # In flight, over all lanes.
    refusalsMax @5 :UInt32;
    # Connections past their limit that are being told so; past it they are
    # closed unanswered and counted.
    refusalDeadlineMs @6 :UInt64;

    anonymous @7 :LanePolicy;
    localHealth @8 :LanePolicy;
    providerHealth @9 :LanePolicy;

    clamped @10 :List(Clamp);
}
