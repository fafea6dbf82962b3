# The evidence record: what a service did to every lane since it was started.
#
# All counters are monotonic since boot, fixed in size, and never per attempt.
# At every moment, per lane and in sum: completed + cancelled + outstanding ==
# admitted, and connsReleased + connsInUse == connsAdmitted (INV-RELEASE).
# No address, key, identity or request field is ever in a record.
#
# Evolution: append only. A counter keeps its number, type and meaning for
# ever; a new one takes the next number. An absent counter reads as 0.

@0x9b695759502c5005;

using Policy = import "policy.capnp";

struct StatusCount {
    status @0 :UInt16;
    count @1 :UInt64;
}

struct LaneEvidence {
    lane @0 :Policy.Lane;
    enabled @1 :Bool;
    rateExempt @2 :Bool;

    # Requests: one reservation each.
    admitted @3 :UInt64;
    completed @4 :UInt64;
    cancelled @5 :UInt64;
    outstanding @6 :UInt64;
    leaked @7 :UInt64;
    # Reservations dropped without being given back: always a defect.

    # Refusals, one counter for each typed overload. Nothing was charged.
    lanePoolFull @8 :UInt64;
    perConnectionLimit @9 :UInt64;
    rateLimited @10 :UInt64;
    aggregateFull @11 :UInt64;
    byteBudgetExhausted @12 :UInt64;
    deadlineExceeded @13 :UInt64;
    clockLost @14 :UInt64;
    routeDenied @15 :UInt64;
    # Route not in this lane's allowlist; no handler was entered.

    # Dispatch: how admitted tickets came to their slot.
    dispatchedReserve @16 :UInt64;
    dispatchedGeneral @17 :UInt64;
    expired @18 :UInt64;
    # Cancelled while they waited, their deadline past.
    slotsInUse @19 :UInt32;
    slotsHighWater @20 :UInt32;
    queued @21 :UInt32;
    queuedHighWater @22 :UInt32;
    bytesInFlight @23 :UInt64;
    bytesHighWater @24 :UInt64;

    # Connections: one permit each.
    connsAdmitted @25 :UInt64;
    connsReleased @26 :UInt64;
    connsRefused @27 :UInt64;
    connsInUse @28 :UInt32;
    connsHighWater @29 :UInt32;
    connsLeaked @30 :UInt64;
    refusalsAnswered @31 :UInt64;
    refusalsUnanswered @32 :UInt64;
    # Past the refusal ceiling: closed without an answer.
    idleClosed @33 :UInt64;
    # Idle keep-alive connections closed to let newcomers in.
    timedOut @34 :UInt64;
    # Connections closed because a phase deadline passed.
    acceptErrorsSpinning @35 :UInt64;
    acceptErrorsConsumed @36 :UInt64;

    responses @37 :List(StatusCount);
    # Responses begun, by exact status, ascending; statuses never sent are left out.
}

struct Evidence {
    sequence @0 :UInt64;
    # Counts the records of this boot; a later record has a higher one.
    uptimeNs @1 :UInt64;
    quiescent @2 :Bool;
    # Nothing in flight when the record was taken.
    draining @3 :Bool;

    anonymous @4 :LaneEvidence;
    localHealth @5 :LaneEvidence;
    providerHealth @6 :LaneEvidence;

    # Sums over the lanes, kept apart so that a reader can check them.
    admitted @7 :UInt64;
    completed @8 :UInt64;
    cancelled @9 :UInt64;
    outstanding @10 :UInt64;
    leaked @11 :UInt64;
    releaseBalanced @12 :Bool;
    foreignTokens @13 :UInt64;
    # Tokens of another ledger that were given back here, refused without effect.

    slotsHighWater @14 :UInt32;
    connsHighWater @15 :UInt32;
    bytesInFlight @16 :UInt64;
    bytesHighWater @17 :UInt64;

    consoleLinesDropped @18 :UInt64;
    serviceMemoryBytes @19 :UInt64;
    # Memory that the service holds; it must not grow once it serves.
}
