// Package validating judges ModelServings, VLLMServices and changes of their scale.
//
// Every function here is pure: what is known of the cluster comes in as Surroundings, and the
// same input gives the same answer, order included. A validator never stops at the first fault,
// so that one apply shows all of them. Each fault carries the ID of its Rule in Origin; the rules
// themselves are data (see Rules), from which the documentation is checked.
//
// Faults are field.Errors whose detail reads "rule; way out". Warnings are for what is allowed
// but probably not meant.
package validating
