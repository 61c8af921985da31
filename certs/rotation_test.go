package certs

import (
	"crypto/x509"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	start     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	testHosts = []string{"gangway-webhook.gangway-system.svc", "127.0.0.1"}
)

const day = 24 * time.Hour

// after carries out steps, each at its moment after start, and returns the data that results.
func after(t *testing.T, steps ...any) map[string][]byte {
	t.Helper()
	var data map[string][]byte
	for i := 0; i < len(steps); i += 2 {
		var err error
		in := Input{Data: data, Hosts: testHosts, Policy: DefaultPolicy()}
		data, err = carryOut(steps[i].(Step), in, start.Add(steps[i+1].(time.Duration)))
		if err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// with returns a copy of data in which one key has another value; a nil value removes the key.
func with(data map[string][]byte, key string, value []byte) map[string][]byte {
	out := maps.Clone(data)
	out[key] = value
	if value == nil {
		delete(out, key)
	}
	return out
}

func TestDecide(t *testing.T) {
	const zero = time.Duration(0)
	fresh := after(t, Remake, zero)
	other := after(t, Remake, zero)
	overlapping := after(t, Remake, zero, IssueLeaf, 240*day, AddCA, 244*day)
	rolled := after(t, Remake, zero, IssueLeaf, 240*day, AddCA, 244*day, IssueLeaf, 244*day+time.Hour)
	garbage := []byte("garbage")

	tests := map[string]struct {
		data      map[string][]byte
		hosts     []string // nil: testHosts
		untrusted bool
		at        time.Duration
		want      Verdict
	}{
		"nothing exists: everything is made": {
			want: Verdict{Step: Remake, Reason: "there is no certificate yet", Again: start},
		},
		"fresh: kept until two thirds of the serving certificate's life are over": {
			data: fresh,
			want: Verdict{Step: Keep, Reason: "nothing is due", Again: start.Add(60*day - 100*time.Second)},
		},
		"the serving certificate is in its last third: renewed": {
			data: fresh, at: 60 * day,
			want: Verdict{Step: IssueLeaf, Reason: "the serving certificate expires on 2026-05-30T12:00:00Z", Again: start.Add(60 * day)},
		},
		"an hour before that: kept": {
			data: fresh, at: 60*day - time.Hour,
			want: Verdict{Step: Keep, Reason: "nothing is due", Again: start.Add(60*day - 100*time.Second)},
		},
		"the CA is in its last third and the serving certificate is good: a CA is added": {
			data: after(t, Remake, zero, IssueLeaf, 240*day), at: 244 * day,
			want: Verdict{Step: AddCA, Reason: "the CA expires on 2027-03-01T12:00:00Z", Again: start.Add(244 * day)},
		},
		"the CA is in its last third and the serving certificate has expired: first a certificate by the CA that is trusted": {
			data: fresh, at: 250 * day,
			want: Verdict{
				Step:   IssueLeaf,
				Reason: "tls.crt is not valid: x509: certificate has expired or is not yet valid: current time 2026-11-06T12:00:00Z is after 2026-05-30T12:00:00Z",
				Again:  start.Add(250 * day),
			},
		},
		"a new CA within the overlap: it does not sign": {
			data: overlapping, at: 244*day + 9*time.Minute,
			want: Verdict{Step: Keep, Reason: "nothing is due", Again: start.Add(244*day + 10*time.Minute)},
		},
		"a new CA after the overlap: it signs": {
			data: overlapping, at: 244*day + 10*time.Minute,
			want: Verdict{Step: IssueLeaf, Reason: "the newest CA is trusted everywhere", Again: start.Add(244*day + 10*time.Minute)},
		},
		"a new CA after the overlap that a configuration does not carry: it does not sign": {
			data: overlapping, at: 244*day + time.Hour, untrusted: true,
			want: Verdict{Step: Keep, Reason: "nothing is due", Again: start.Add(330 * day)},
		},
		"a new CA that is not trusted and a serving certificate that has expired: nothing is left to lose, it signs": {
			data: overlapping, at: 331 * day, untrusted: true,
			want: Verdict{
				Step:   IssueLeaf,
				Reason: "tls.crt is not valid: x509: certificate has expired or is not yet valid: current time 2027-01-26T12:00:00Z is after 2027-01-25T12:00:00Z",
				Again:  start.Add(331 * day),
			},
		},
		"the CA before is still valid: it stays in the bundle": {
			data: rolled, at: 245 * day,
			want: Verdict{Step: Keep, Reason: "nothing is due", Again: start.Add(244*day + time.Hour + 60*day - 100*time.Second)},
		},
		"the CA before has expired: it leaves the bundle": {
			data: after(t, Remake, zero, IssueLeaf, 240*day, AddCA, 244*day, IssueLeaf, 360*day), at: 366 * day,
			want: Verdict{Step: DropExpired, Reason: "a CA of the bundle has expired", Again: start.Add(366 * day)},
		},
		"the key of the CA was lost: a CA is added, the serving certificate stays in use": {
			data: with(fresh, caKeyKey, nil), at: day,
			want: Verdict{Step: AddCA, Reason: "ca.key is missing", Again: start.Add(day)},
		},
		"the key of the CA is another's: a CA is added": {
			data: with(fresh, caKeyKey, other[caKeyKey]), at: day,
			want: Verdict{Step: AddCA, Reason: "ca.key does not belong to the first certificate of ca.crt", Again: start.Add(day)},
		},
		"the serving certificate is garbage: issued again by the CA that is trusted": {
			data: with(fresh, leafCertKey, garbage), at: day,
			want: Verdict{
				Step:   IssueLeaf,
				Reason: "tls.crt and tls.key are unreadable: tls: failed to find any PEM data in certificate input",
				Again:  start.Add(day),
			},
		},
		"the serving key was lost: issued again": {
			data: with(fresh, leafKeyKey, nil), at: day,
			want: Verdict{Step: IssueLeaf, Reason: "tls.key is missing", Again: start.Add(day)},
		},
		"the bundle is garbage: nothing can be trusted, everything is made anew": {
			data: with(fresh, caCertKey, garbage), at: day,
			want: Verdict{
				Step: Remake,
				Reason: "ca.crt is unreadable: data does not contain any valid RSA or ECDSA certificates; " +
					"tls.crt is not valid: x509: certificate signed by unknown authority",
				Again: start.Add(day),
			},
		},
		"the bundle holds the serving certificate instead of a CA: everything is made anew": {
			data: with(fresh, caCertKey, fresh[leafCertKey]), at: day,
			want: Verdict{
				Step: Remake,
				Reason: "ca.crt holds a certificate that is not a CA; " +
					"tls.crt is not valid: x509: certificate signed by unknown authority",
				Again: start.Add(day),
			},
		},
		"the server is called by a further name: a certificate that covers it is issued": {
			data: fresh, hosts: append(slices.Clone(testHosts), "webhook.example.com"), at: day,
			want: Verdict{Step: IssueLeaf, Reason: "tls.crt does not cover webhook.example.com", Again: start.Add(day)},
		},
		"the manager was off until all had expired: everything is made anew": {
			data: fresh, at: 400 * day,
			want: Verdict{
				Step: Remake,
				Reason: "the newest CA is valid from 2026-03-01T11:55:00Z to 2027-03-01T12:00:00Z only; " +
					"tls.crt is not valid: x509: certificate has expired or is not yet valid: current time 2027-04-05T12:00:00Z is after 2026-05-30T12:00:00Z",
				Again: start.Add(400 * day),
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			hosts := tc.hosts
			if hosts == nil {
				hosts = testHosts
			}
			in := Input{Data: tc.data, Hosts: hosts, Trusted: !tc.untrusted, Policy: DefaultPolicy()}
			now := start.Add(tc.at)
			got := Decide(in, now)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, Decide(in, now)); diff != "" {
				t.Errorf("a second call differs:\n%s", diff)
			}
		})
	}
}

// TestLifeOfTheSecret lives through ten years of verdicts and checks after each step that an API server
// that learned the trust one step ago would still accept the certificate that is presented now, and that
// the trust of now accepts a server that still presents the certificate of one step ago.
func TestLifeOfTheSecret(t *testing.T) {
	in := Input{Hosts: testHosts, Trusted: true, Policy: DefaultPolicy()}
	now, end := start, start.Add(10*365*day)
	steps := map[Step]int{}
	var before material
	inARow := 0
	for now.Before(end) {
		verdict := Decide(in, now)
		steps[verdict.Step]++
		if verdict.Step == Keep {
			if inARow > 3 {
				t.Fatalf("%s: %d steps without a rest, want at most 3", stamp(now), inARow)
			}
			inARow = 0
			if !verdict.Again.After(now) {
				t.Fatalf("%s: asked to look again at %s, which is not later", stamp(now), stamp(verdict.Again))
			}
			now = verdict.Again
			continue
		}
		inARow++
		data, err := carryOut(verdict.Step, in, now)
		if err != nil {
			t.Fatal(err)
		}
		m := parse(data)
		if err := m.leafFault(testHosts, now); err != nil {
			t.Fatalf("%s: after %s: %v", stamp(now), verdict.Step, err)
		}
		if before.leaf != nil {
			accepts(t, now, verdict.Step, "the trust of the step before, the certificate of now", before.cas, m)
			accepts(t, now, verdict.Step, "the trust of now, the certificate of the step before", m.cas, before)
		}
		before, in.Data = m, data
	}
	// A CA every 243 days; a certificate every 60 days, and one more with every CA.
	want := map[Step]int{Remake: 1, AddCA: 15, IssueLeaf: 75, DropExpired: 14}
	delete(steps, Keep)
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps in ten years (-want +got):\n%s", diff)
	}
}

func accepts(t *testing.T, now time.Time, step Step, what string, trust []*x509.Certificate, m material) {
	t.Helper()
	server := material{cas: trust, leaf: m.leaf}
	if err := server.leafFault(testHosts, now); err != nil {
		t.Fatalf("%s: %s: %s: %v", stamp(now), step, what, err)
	}
}

func TestCarryOutKeepsForeignKeysAndItsInput(t *testing.T) {
	data := with(after(t, Remake, time.Duration(0)), "note", []byte("by hand"))
	in := Input{Data: maps.Clone(data), Hosts: testHosts, Policy: DefaultPolicy()}
	got, err := carryOut(IssueLeaf, in, start.Add(day))
	if err != nil {
		t.Fatal(err)
	}
	if string(got["note"]) != "by hand" {
		t.Errorf("note = %q, want it kept", got["note"])
	}
	if diff := cmp.Diff(data, in.Data); diff != "" {
		t.Errorf("the input was changed (-want +got):\n%s", diff)
	}
}
