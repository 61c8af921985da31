package vllm

import (
	"strconv"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
)

// Defaults of engineArgs, as the CRD has them.
const (
	defaultDtype             = "auto"
	defaultMaxModelLen int32 = 4096
	defaultMaxNumSeqs  int32 = 8
)

// arguments are those of vLLM's OpenAI-compatible server, which is the entrypoint of its images.
// Flag and value are elements of their own, and the model is --model: every release of vLLM
// understands that, whether its entrypoint is the api_server module or "vllm serve".
// extraArgs come last, since the last of two equal flags counts.
func arguments(v *aiinfrav1alpha1.VLLMService) []string {
	e := v.Spec.EngineArgs
	args := []string{
		"--model", v.Spec.ModelPath,
		"--served-model-name", v.Spec.ModelName,
		"--port", number(port(v)),
		"--dtype", orString(e.Dtype, defaultDtype),
		"--max-model-len", number(orInt32(e.MaxModelLen, defaultMaxModelLen)),
		"--max-num-seqs", number(orInt32(e.MaxNumSeqs, defaultMaxNumSeqs)),
	}
	if e.GPUMemoryUtilization != "" {
		args = append(args, "--gpu-memory-utilization", e.GPUMemoryUtilization)
	}
	if e.TensorParallelSize != nil {
		args = append(args, "--tensor-parallel-size", number(*e.TensorParallelSize))
	}
	if e.PipelineParallelSize != nil {
		args = append(args, "--pipeline-parallel-size", number(*e.PipelineParallelSize))
	}
	if e.Quantization != "" {
		args = append(args, "--quantization", e.Quantization)
	}
	return append(args, v.Spec.ExtraArgs...)
}

func number(n int32) string { return strconv.FormatInt(int64(n), 10) }

func orInt32(n, otherwise int32) int32 {
	if n == 0 {
		return otherwise
	}
	return n
}

func orString(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
