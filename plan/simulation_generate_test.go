package plan_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// generator draws steps that make sense in a world. It reads the world and changes nothing.
type generator struct {
	*rand.Rand
	// faults: Pods and writes may fail.
	faults bool
	byRole bool
	tag    int
	begun  bool
}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	g.faults = g.IntN(10) < 7
	return g
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// header draws a cluster and a ModelServing.
func (g *generator) header() string {
	h := "cluster volcano=" + pick(g, "new", "new", "new", "old", "none")
	g.byRole = g.IntN(4) == 0
	if g.byRole {
		h += " type=role recovery=" + pick(g, "RoleRecreate", "RoleRecreate", "None")
	} else {
		h += " type=group recovery=" + pick(g, "RoleRecreate", "ServingGroupRecreate", "None")
		h += g.limits()
	}
	h += fmt.Sprintf(" replicas=%d grace=%d deadline=%d history=%d", g.IntN(5), pick(g, 0, 0, 60), pick(g, 1800, 120), pick(g, 10, 0, 1))
	return h + " roles=" + pick(g, "a:1:0", "a:1:0", "a:2:0", "a:1:1", "a:1:1,b:1:0", "a:2:0,b:1:1", "a:0:0,b:2:1")
}

// limits draws settings that admission lets pass.
func (g *generator) limits() string {
	out := " maxUnavailable=" + pick(g, "1", "1", "2", "50%", "0")
	surge := pick(g, "0", "0", "1", "50%")
	if strings.HasSuffix(out, "=0") {
		surge = pick(g, "1", "2")
	}
	return out + " maxSurge=" + surge + " partition=" + pick(g, "0", "0", "0", "1", "2", "50%")
}

// step draws the next step. The weights make most runs a rollout that something happens to.
func (g *generator) step(w *world) string {
	if !g.begun {
		// Every eighth cluster begins with a quota.
		if g.begun = true; g.IntN(8) == 0 {
			return fmt.Sprintf("quota %d", 1+g.IntN(14))
		}
	}
	n := g.IntN(100)
	switch {
	case n < 45:
		return g.managerStep(w)
	case n < 58:
		k := kinds[g.IntN(len(kinds))]
		if g.IntN(3) == 0 {
			return fmt.Sprintf("sync %s %d", k, 1+g.IntN(3))
		}
		return fmt.Sprintf("sync %s", k)
	case n < 86:
		return g.podStep(w)
	case n < 91:
		return "tick " + pick(g, "300ms", "1s", "5s", "31s", "2m", "11m")
	case n < 97:
		return g.specStep(w)
	case n < 98:
		return "crash"
	default:
		if g.faults {
			return g.mishap(w)
		}
		return g.relabel(w)
	}
}

// relabel edits a label by hand.
func (g *generator) relabel(w *world) string {
	all := w.ours()
	if len(all) == 0 {
		return "pass"
	}
	p := all[g.IntN(len(all))]
	key := pick(g, "name", "group-name", "role", "role-id", "entry", "revision", "role-template-hash")
	value := pick(g, "-", "wrong")
	if key == "name" {
		value = "wrong" // Without it, the cache would not see the Pod any more.
	}
	if key == "revision" && g.IntN(2) == 0 {
		// Another revision that there is.
		for _, name := range slices.Sorted(maps.Keys(w.stores[revisions].live)) {
			if hash := strings.TrimPrefix(name, theName+"-"); g.IntN(2) == 0 {
				value = hash
			}
		}
	}
	return fmt.Sprintf("label %s %s %s", p.Name, key, value)
}

func (g *generator) managerStep(w *world) string {
	n := w.manager.choices()
	if n == 0 {
		if w.manager.due() || g.IntN(4) == 0 {
			return "pass"
		}
		return fmt.Sprintf("sync %s", kinds[g.IntN(len(kinds))])
	}
	how := ""
	if g.faults && g.IntN(20) == 0 {
		how = " " + pick(g, "transient", "lost", "quota")
	}
	return fmt.Sprintf("do %d%s", g.IntN(n), how)
}

// podStep brings a Pod on, or lets it fail.
func (g *generator) podStep(w *world) string {
	all := w.ours()
	if len(all) == 0 {
		return "pass"
	}
	p := all[g.IntN(len(all))]
	switch {
	case p.DeletionTimestamp != nil:
		return "gone " + p.Name
	case p.Spec.NodeName == "":
		return "start " + p.Name
	case g.faults && g.IntN(12) == 0:
		return pick(g, "restart ", "unready ", "fail ", "stuck ", "delete ", "delete ") + p.Name
	default:
		return "ready " + p.Name
	}
}

func (g *generator) mishap(w *world) string {
	switch g.IntN(18) {
	case 12, 13:
		return g.relabel(w)
	case 16, 17:
		return fmt.Sprintf("quota %d", g.IntN(14))
	case 14, 15:
		return "revision " + pick(g, "remove", "unlabel", "disown", "terminate")
	case 0:
		if names := slices.Sorted(maps.Keys(w.stores[podGroups].live)); len(names) > 0 {
			return "remove podgroup " + names[g.IntN(len(names))]
		}
	case 1:
		if names := slices.Sorted(maps.Keys(w.stores[services].live)); len(names) > 0 {
			return "remove service " + names[g.IntN(len(names))]
		}
	case 2:
		return fmt.Sprintf("%s node-%d", pick(g, "lose", "cut"), g.IntN(nodeCount))
	case 3, 4:
		return fmt.Sprintf("join node-%d", g.IntN(nodeCount))
	case 5:
		return fmt.Sprintf("foreign m-%d-a-0-0", g.IntN(4))
	case 6:
		return fmt.Sprintf("unforeign m-%d-a-0-0", g.IntN(4))
	case 7:
		return "volcano new"
	case 8:
		return "recreate"
	case 9:
		return "collect"
	case 10:
		if all := w.ours(); len(all) > 0 {
			return fmt.Sprintf("cost %s %d", all[g.IntN(len(all))].Name, g.IntN(5)-2)
		}
	default:
		if all := w.ours(); len(all) > 0 {
			return pick(g, "hang ", "unhang ") + all[g.IntN(len(all))].Name
		}
	}
	return "crash"
}

func (g *generator) specStep(w *world) string {
	roles := w.modelServing().Spec.Template.Roles
	role := roles[g.IntN(len(roles))].Name
	switch g.IntN(16) {
	case 0, 1, 2:
		g.tag++
		return fmt.Sprintf("set image %s %d", role, 1+g.tag)
	case 3:
		return fmt.Sprintf("set image %s %d", role, 1+g.IntN(g.tag+1))
	case 4:
		return "set image " + role + " broken"
	case 5, 6, 7:
		return fmt.Sprintf("set replicas %d", g.IntN(6))
	case 8:
		return fmt.Sprintf("set roleReplicas %s %d", role, g.IntN(4))
	case 9:
		return fmt.Sprintf("set workers %s %d", role, g.IntN(3))
	case 10:
		return "set paused " + pick(g, "true", "false", "false")
	case 11:
		if g.byRole {
			return "set recovery " + pick(g, "RoleRecreate", "None")
		}
		return "set recovery " + pick(g, "RoleRecreate", "ServingGroupRecreate", "None")
	case 12, 13:
		if g.byRole {
			return pick(g, "set rolePartition ", "set roleMaxUnavailable ") + role + pick(g, " 1", " 2", " 50%")
		}
		return g.limitStep(w)
	case 14:
		if g.IntN(2) == 0 {
			return "set norole b"
		}
		return fmt.Sprintf("set role b %d %d", 1+g.IntN(2), g.IntN(2))
	default:
		return fmt.Sprintf("set minimum %s %d", role, g.IntN(3))
	}
}

// limitStep changes one limit, so that both are never 0.
func (g *generator) limitStep(w *world) string {
	switch g.IntN(3) {
	case 0:
		return "set partition " + pick(g, "0", "0", "1", "3", "50%", "100%")
	case 1:
		if c := w.modelServing().Spec.RolloutStrategy.RollingUpdateConfiguration; c != nil && c.MaxSurge != nil && c.MaxSurge.String() != "0" {
			return "set maxUnavailable " + pick(g, "0", "1", "2")
		}
		return "set maxUnavailable " + pick(g, "1", "2", "50%")
	default:
		if c := w.modelServing().Spec.RolloutStrategy.RollingUpdateConfiguration; c != nil && c.MaxUnavailable != nil && c.MaxUnavailable.String() == "0" {
			return "set maxSurge " + pick(g, "1", "2")
		}
		return "set maxSurge " + pick(g, "0", "1", "50%")
	}
}
