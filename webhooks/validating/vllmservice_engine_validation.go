package validating

import (
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
)

var (
	ruleGPUMemory = newRule(Rule{
		ID: "gpu-memory", Effect: Rejects, Field: "spec.engineArgs.gpuMemoryUtilization",
		Says:    "a share of the GPU's memory must be a decimal above 0 and at most 1",
		Example: "gpuMemoryUtilization: \"90%\"",
		Fix:     "write for example \"0.9\"",
	})
	ruleEngineNumber = newRule(Rule{
		ID: "engine-number", Effect: Rejects, Field: "spec.engineArgs",
		Says:    "must be 1 or more",
		Example: "maxModelLen: -1",
		Fix:     "use a positive number, or leave it out for the default",
	})
	ruleExtraArgs = newRule(Rule{
		ID: "extra-args", Effect: Rejects, Field: "spec.extraArgs[]",
		Says:    "a flag must not contradict the field that sets it",
		Example: "extraArgs: [--max-model-len=8192] with engineArgs.maxModelLen: 4096",
		Fix:     "remove the flag, and set the field that the message names",
	})
)

func validateEngine(s *aiinfrav1alpha1.VLLMServiceSpec, spec *field.Path) field.ErrorList {
	path, e := spec.Child("engineArgs"), &s.EngineArgs
	var errs field.ErrorList
	if u := e.GPUMemoryUtilization; u != "" && !isShare(u) {
		errs = append(errs, ruleGPUMemory.invalid(path.Child("gpuMemoryUtilization"), u, "write for example \"0.9\""))
	}
	for _, n := range []struct {
		field string
		value int64
	}{
		{"maxModelLen", int64(e.MaxModelLen)},
		{"maxNumSeqs", int64(e.MaxNumSeqs)},
	} {
		if n.value < 0 { // 0 is absent
			errs = append(errs, ruleEngineNumber.invalid(path.Child(n.field), n.value, "use a positive number, or leave it out"))
		}
	}
	for _, n := range []struct {
		field string
		value *int32
	}{
		{"tensorParallelSize", e.TensorParallelSize},
		{"pipelineParallelSize", e.PipelineParallelSize},
	} {
		if n.value != nil && *n.value < 1 {
			errs = append(errs, ruleEngineNumber.invalid(path.Child(n.field), *n.value, "use a positive number, or leave it out"))
		}
	}
	return append(errs, validateExtraArgs(s, spec.Child("extraArgs"))...)
}

var decimal = regexp.MustCompile(`^(\d{1,10}(\.\d{0,20})?|\.\d{1,20})$`)

func isShare(s string) bool {
	if !decimal.MatchString(s) {
		return false
	}
	share, err := strconv.ParseFloat(s, 64)
	return err == nil && share > 0 && share <= 1
}

// flagField is a flag of vLLM that a field of the spec sets.
type flagField struct {
	flag, short string
	field       string
	// value that the field gives to the flag; empty: the field is not set, the flag is free.
	value string
}

func flagFields(s *aiinfrav1alpha1.VLLMServiceSpec) []flagField {
	e := &s.EngineArgs
	return []flagField{
		{"--model", "", "modelPath", s.ModelPath},
		{"--served-model-name", "", "modelName", s.ModelName},
		{"--port", "", "port", number(int64(s.Port))},
		{"--dtype", "", "engineArgs.dtype", e.Dtype},
		{"--max-model-len", "", "engineArgs.maxModelLen", number(int64(e.MaxModelLen))},
		{"--gpu-memory-utilization", "", "engineArgs.gpuMemoryUtilization", e.GPUMemoryUtilization},
		{"--max-num-seqs", "", "engineArgs.maxNumSeqs", number(int64(e.MaxNumSeqs))},
		{"--tensor-parallel-size", "-tp", "engineArgs.tensorParallelSize", numberOf(e.TensorParallelSize)},
		{"--pipeline-parallel-size", "-pp", "engineArgs.pipelineParallelSize", numberOf(e.PipelineParallelSize)},
		{"--quantization", "-q", "engineArgs.quantization", e.Quantization},
	}
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func numberOf(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

func validateExtraArgs(s *aiinfrav1alpha1.VLLMServiceSpec, path *field.Path) field.ErrorList {
	fields := flagFields(s)
	var errs field.ErrorList
	for i := range judged(len(s.ExtraArgs), &errs) {
		arg := s.ExtraArgs[i]
		flag, value, inline := strings.Cut(arg, "=")
		if !strings.HasPrefix(flag, "-") {
			continue
		}
		if strings.HasPrefix(flag, "--") {
			flag = strings.ReplaceAll(flag, "_", "-") // vLLM takes both
		}
		if !inline && i+1 < len(s.ExtraArgs) {
			value = s.ExtraArgs[i+1]
			arg += " " + value
		}
		for _, f := range fields {
			if f.value == "" || (flag != f.flag && (f.short == "" || flag != f.short)) || sameArg(value, f.value) {
				continue
			}
			errs = append(errs, ruleExtraArgs.invalid(path.Index(i), arg, "remove it, and change spec.%s from %q if need be", f.field, clip(f.value)))
		}
	}
	return errs
}

// sameArg compares numbers by value: 0.9 and 0.90 do not contradict each other.
func sameArg(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}
