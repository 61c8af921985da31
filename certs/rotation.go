package certs

import (
	"fmt"
	"time"
)

// Step is the one thing that the Secret needs next.
type Step string

const (
	// Keep changes nothing.
	Keep Step = "Keep"
	// Remake makes a CA and a serving certificate, and trusts nothing of before. It is the first start,
	// and the repair of a Secret of which nothing is usable.
	Remake Step = "Remake"
	// AddCA puts a new CA in front of the bundle. The serving certificate stays as it is.
	AddCA Step = "AddCA"
	// IssueLeaf signs a new serving certificate by the newest CA.
	IssueLeaf Step = "IssueLeaf"
	// DropExpired takes expired CAs out of the bundle.
	DropExpired Step = "DropExpired"
)

// Input is all that a decision rests on.
type Input struct {
	// Data is the data of the Secret; nil when there is none.
	Data map[string][]byte
	// Hosts are the DNS names and IP addresses under which the webhook server is called.
	Hosts []string
	// Trusted is true when every webhook configuration that exists carries the whole bundle.
	Trusted bool
	// Policy is for how long things live.
	Policy Policy
}

// Verdict is the next step, why, and when to look again if nothing else happens before.
type Verdict struct {
	Step   Step
	Reason string
	Again  time.Time
}

// Decide says what the Secret needs at now. It is pure: equal inputs give equal verdicts. Carrying out a
// verdict and asking again leads to Keep after at most three steps.
//
// The order of the rules is the order of urgency: what cannot be presented is replaced first, and by the
// CA that is already trusted; then the CA is renewed; then the serving certificate.
func Decide(in Input, now time.Time) Verdict {
	m := parse(in.Data)
	leafFault := m.leafFault(in.Hosts, now)

	caFault := m.caErr
	if caFault == nil && len(valid(m.cas[:1], now)) == 0 {
		caFault = fmt.Errorf("the newest CA is valid from %s to %s only", stamp(m.cas[0].NotBefore), stamp(m.cas[0].NotAfter))
	}
	switch {
	case len(in.Data) == 0:
		return Verdict{Step: Remake, Reason: "there is no certificate yet", Again: now}
	case caFault != nil && leafFault != nil:
		return Verdict{Step: Remake, Reason: fmt.Sprintf("%v; %v", caFault, leafFault), Again: now}
	case caFault != nil:
		return Verdict{Step: AddCA, Reason: caFault.Error(), Again: now}
	case leafFault != nil:
		return Verdict{Step: IssueLeaf, Reason: leafFault.Error(), Again: now}
	}

	ca, leaf := m.cas[0], m.leaf.Leaf
	if at := renewAt(ca.NotBefore, ca.NotAfter); !now.Before(at) {
		return Verdict{Step: AddCA, Reason: "the CA expires on " + stamp(ca.NotAfter), Again: now}
	}

	signsFrom := ca.NotBefore.Add(in.Policy.Backdate).Add(in.Policy.Overlap)
	mayRoll := in.Trusted && !now.Before(signsFrom)
	leafDue := renewAt(leaf.NotBefore, leaf.NotAfter)
	switch {
	case !m.leafSignedByNewest():
		if mayRoll {
			return Verdict{Step: IssueLeaf, Reason: "the newest CA is trusted everywhere", Again: now}
		}
		leafDue = leaf.NotAfter // the CA before has no key any more: only the newest can sign, and must if this expires
	case !now.Before(leafDue):
		return Verdict{Step: IssueLeaf, Reason: "the serving certificate expires on " + stamp(leaf.NotAfter), Again: now}
	}

	if len(valid(m.cas, now)) < len(m.cas) {
		return Verdict{Step: DropExpired, Reason: "a CA of the bundle has expired", Again: now}
	}

	again := earliest(renewAt(ca.NotBefore, ca.NotAfter), leafDue)
	for _, old := range m.cas[1:] {
		again = earliest(again, old.NotAfter)
	}
	if !m.leafSignedByNewest() && now.Before(signsFrom) {
		again = earliest(again, signsFrom)
	}
	return Verdict{Step: Keep, Reason: "nothing is due", Again: again}
}

// renewAt is when two thirds of a life are over.
func renewAt(notBefore, notAfter time.Time) time.Time {
	return notAfter.Add(-notAfter.Sub(notBefore) / 3)
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
