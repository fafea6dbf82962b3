# The evidence record: what a service did to every lane since it was started.
#
# All counters are monotonic since boot, fixed in size, and never per attempt.
# At every moment, per lane: completed + cancelled + serving + waiting ==
# admitted, and connsReleased + connsInUse == connsAdmitted (INV-RELEASE); per
# listener, connections accepted == connsAdmitted + connsRefused +
# connsTurnedAway. No address, key, identity or request field is in a record.
#
# Names are those of the evidence line on the console, which docs/operators.md
# explains one by one.
#
# Evolution: append only. A counter keeps its number, type and meaning for
# ever; a new one takes the next number. An absent counter reads as 0.

@0x9b695759502c5005;

enum Lane {
    # What a connection is charged to; fixed by the listener that accepted it.
    anonymous @0;
    localHealth @1;
    providerHealth @2;
}

struct StatusCount {
    status @0 :UInt16;
    count @1 :UInt64;
}

enum RateKind {
    # How a lane's rate is bounded.
    unknown @0;
    budget @1;
    exempt @2;
    unmetered @3;
}

enum ServingState {
    unknown @0;
    serving @1;
    draining @2;
}

struct LaneEvidence {
    lane @0 :Lane;
    enabled @1 :Bool;
    # Whether the lane has a listener; else all counters are 0.
    rate @2 :RateKind;

    # Requests: one reservation each.
    admitted @3 :UInt64;
    completed @4 :UInt64;
    cancelled @5 :UInt64;
    expired @6 :UInt64;
    # Of the cancelled: those whose deadline passed while they waited.
    serving @7 :UInt64;
    waiting @8 :UInt64;
    # Admitted and not ended, with a slot and without.

    # Requests refused, one counter for each overload. Nothing was charged.
    clockLost @9 :UInt64;
    deadlineExceeded @10 :UInt64;
    rateLimited @11 :UInt64;
    perConnectionLimit @12 :UInt64;
    lanePoolFull @13 :UInt64;
    aggregateFull @14 :UInt64;
    byteBudgetExhausted @15 :UInt64;

    routeDenied @16 :UInt64;
    # Path or method not one of the lane's; no handler was entered.

    slotReserve @17 :UInt64;
    slotLimit @18 :UInt64;
    slotsHighWater @19 :UInt64;
    waitingHighWater @20 :UInt64;
    bytes @21 :UInt64;

    # Connections: one permit each.
    connsAdmitted @22 :UInt64;
    connsReleased @23 :UInt64;
    connsRefused @24 :UInt64;
    # Refused a permit: the sum of the next four.
    connsRefusedClockLost @25 :UInt64;
    connsRefusedRateLimited @26 :UInt64;
    connsRefusedLaneFull @27 :UInt64;
    connsRefusedTotalFull @28 :UInt64;
    connsTurnedAway @29 :UInt64;
    # Closed without being asked for a permit: draining.
    connsInUse @30 :UInt64;
    connsReserve @31 :UInt64;
    connsLimit @32 :UInt64;
    connsHighWater @33 :UInt64;
    refusalsAdmitted @34 :UInt64;
    # Of the refused: those that were to be told so.
    refusalsUnanswered @35 :UInt64;
    # Of the refused: those closed without an answer, past the ceiling of
    # refusals or because it was not taken.
    refusalsInUse @36 :UInt64;

    idleClosed @37 :UInt64;
    # Closed to let newcomers in, or by a drain: connections that wait for their
    # next request, have not sent a byte yet, or linger after a last answer.
    timedOut @38 :UInt64;
    # Connections or requests ended by a phase deadline, or by the end of a
    # drain's patience.
    acceptsSpun @39 :UInt64;
    # Accepts that failed and would have failed again at once.
    acceptsConsumed @40 :UInt64;
    # Accepts that failed and lost their connection.

    responses @41 :List(StatusCount);
    # Responses begun, by exact status, ascending; those never sent are left out.

    gaveWay @42 :UInt64;
    # Ended in a request or an answer to let newcomers or waiting requests in.
}

struct Evidence {
    uptimeNs @0 :UInt64;
    state @1 :ServingState;

    anonymous @2 :LaneEvidence;
    localHealth @3 :LaneEvidence;
    providerHealth @4 :LaneEvidence;

    # Of all lanes together.
    outstanding @5 :UInt64;
    releaseBalanced @6 :Bool;
    leaked @7 :UInt64;
    # Tokens dropped unreleased: always 0.
    faults @8 :UInt64;
    # Accounting faults: always 0.
    clockStepsBack @9 :UInt64;

    generalUsed @10 :UInt64;
    generalPool @11 :UInt64;
    slotsHighWater @12 :UInt64;
    connsInUse @13 :UInt64;
    connsLimit @14 :UInt64;
    connsHighWater @15 :UInt64;
    bytesInFlight @16 :UInt64;
    bytesHighWater @17 :UInt64;
    memoryBytes @18 :UInt64;
    # The service's accounts, and every connection record and slot that was ever
    # used. 0 from a service that does not tell.
}
