# The evidence record: what a service did to every lane since it was started.
#
# All numbers are fixed in size and never per attempt. A number is a counter,
# which only grows from 0 at the start, unless its comment says otherwise.
# At every moment, per lane: completed + cancelled + serving + waiting ==
# admitted, and connsReleased + connsInUse == connsAdmitted (INV-RELEASE); per
# listener, connections accepted == connsAdmitted + connsRefused +
# connsTurnedAway. No address, key, identity or request field is in a record.
#
# Numbers stand once, in the table of the service (service/src/report/table.rs):
# the generated parts here and docs/operators.md, which explains the evidence
# line on the console, follow from it.
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

    responses @41 :List(StatusCount);
    # Responses begun, by exact status, ascending; those never sent are left out.

    # generated: lane
    admitted @3 :UInt64;
    # Requests admitted, to a slot or to the queue.
    completed @4 :UInt64;
    # Of these, fully served.
    cancelled @5 :UInt64;
    # Of these, ended otherwise: time-out, close, reset.
    expired @6 :UInt64;
    # Of the cancelled, those whose deadline passed in the queue.
    serving @7 :UInt64;
    # Requests admitted and not ended, with a slot (gauge, requests).
    waiting @8 :UInt64;
    # Requests admitted and not ended, without a slot (gauge, requests).
    clockLost @9 :UInt64;
    deadlineExceeded @10 :UInt64;
    rateLimited @11 :UInt64;
    perConnectionLimit @12 :UInt64;
    lanePoolFull @13 :UInt64;
    aggregateFull @14 :UInt64;
    byteBudgetExhausted @15 :UInt64;
    # Requests refused, by kind; nothing was charged.
    routeDenied @16 :UInt64;
    # Requests for a path or method that is not the lane's.
    slotReserve @17 :UInt64;
    # Slots that only this lane can hold (gauge, slots).
    slotLimit @18 :UInt64;
    # Slots that the lane can reach (gauge, slots).
    slotsHighWater @19 :UInt64;
    # Most slots held at once (gauge, slots).
    waitingHighWater @20 :UInt64;
    # Most requests waiting at once (gauge, requests).
    bytes @21 :UInt64;
    # Bytes held by requests (gauge, bytes).
    connsAdmitted @22 :UInt64;
    # Connections that got a permit.
    connsReleased @23 :UInt64;
    # Permits given back.
    connsRefused @24 :UInt64;
    # Connections refused a permit.
    connsRefusedClockLost @25 :UInt64;
    # Of these, refused for want of a clock.
    connsRefusedRateLimited @26 :UInt64;
    # Of these, refused because they came too fast.
    connsRefusedLaneFull @27 :UInt64;
    # Of these, refused because the lane held all that it may have.
    connsRefusedTotalFull @28 :UInt64;
    # Of these, refused because all lanes held every shared one.
    connsTurnedAway @29 :UInt64;
    # Connections closed without being asked, while draining.
    connsInUse @30 :UInt64;
    # Connections that hold a permit (gauge, connections).
    connsReserve @31 :UInt64;
    # Connections that only this lane can hold (gauge, connections).
    connsLimit @32 :UInt64;
    # Connections that the lane can reach (gauge, connections).
    connsHighWater @33 :UInt64;
    # Most permits held at once (gauge, connections).
    refusalsAdmitted @34 :UInt64;
    # Of the refused, those that were to be told so.
    refusalsUnanswered @35 :UInt64;
    # Of the refused, those closed without an answer, past the ceiling or
    # because it was not taken.
    refusalsInUse @36 :UInt64;
    # Refused connections being answered (gauge, refusals).
    idleClosed @37 :UInt64;
    # Connections without a request closed to let newcomers in, or by a
    # drain: they wait for their next one, never sent a byte, or linger
    # after a last answer.
    timedOut @38 :UInt64;
    # Connections or requests ended by a phase deadline, or by the end of a
    # drain's patience.
    acceptsSpun @39 :UInt64;
    # Accepts that failed and would have failed again at once.
    acceptsConsumed @40 :UInt64;
    # Accepts that failed and lost their connection.
    gaveWay @42 :UInt64;
    # Connections in a head, a body or an answer ended to let newcomers or
    # waiting requests in.
    denials @43 :UInt64;
    # Answers without an admission, which the lane's rate paid for.
    denialsUnpaid @44 :UInt64;
    # Such answers past the lane's rate; each ended its connection.
    # end
}

struct Evidence {
    state @1 :ServingState;

    anonymous @2 :LaneEvidence;
    localHealth @3 :LaneEvidence;
    providerHealth @4 :LaneEvidence;

    releaseBalanced @6 :Bool;

    # Of all lanes together.
    # generated: service
    uptimeNs @0 :UInt64;
    # Since the start (gauge, ns).
    outstanding @5 :UInt64;
    # Requests admitted and not ended (gauge, requests).
    leaked @7 :UInt64;
    # Tokens dropped unreleased.
    faults @8 :UInt64;
    # Accounts that do not add up.
    clockStepsBack @9 :UInt64;
    # Times the clock stepped back and was taken to stand still.
    generalUsed @10 :UInt64;
    # Slots of the general pool held (gauge, slots).
    generalPool @11 :UInt64;
    # Slots of the general pool (gauge, slots).
    slotsHighWater @12 :UInt64;
    # Most slots held at once, all lanes together (gauge, slots).
    connsInUse @13 :UInt64;
    # Connections that hold a permit, all lanes together (gauge,
    # connections).
    connsLimit @14 :UInt64;
    # Connections in all (gauge, connections).
    connsHighWater @15 :UInt64;
    # Most permits held at once, all lanes together (gauge, connections).
    bytesInFlight @16 :UInt64;
    # Bytes held by requests (gauge, bytes).
    bytesHighWater @17 :UInt64;
    # Most bytes held by requests at once (gauge, bytes).
    memoryBytes @18 :UInt64;
    # Accounts, and every connection record and slot that was ever used; 0
    # from a service that does not tell (gauge, bytes).
    # end
}
