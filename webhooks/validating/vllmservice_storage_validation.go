package validating

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
)

var (
	ruleMountPath = newRule(Rule{
		ID: "mount-path", Effect: Rejects, Field: "spec.storage.mountPath",
		Says:    "the claim must be mounted at an absolute path without ':', below the root",
		Example: "mountPath: data/models",
		Fix:     "start it with '/'",
	})
	ruleModelPath = newRule(Rule{
		ID: "model-path", Effect: Rejects, Field: "spec.modelPath",
		Says:    "a path to the model must be absolute and lie below storage.mountPath, where the claim is mounted",
		Example: "modelPath: /models/qwen with mountPath: /data",
		Fix:     "move it below mountPath, or change mountPath",
	})
	warnHubModel = newRule(Rule{
		ID: "hub-model", Effect: Warns, Field: "spec.modelPath",
		Says:    "this is not a path but a hub id, so that every Pod downloads the model when it starts",
		Example: "modelPath: Qwen/Qwen2.5-1.5B-Instruct",
		Fix:     "store the model in the claim and give its path below mountPath",
	})
)

func validateStorage(s *aiinfrav1alpha1.VLLMServiceSpec, spec *field.Path) field.ErrorList {
	storage := spec.Child("storage")
	var errs field.ErrorList
	errs = append(errs, vllmRequired(s.Storage.PVCName, storage.Child("pvcName"))...)
	errs = append(errs, validateReference(s.Storage.PVCName, storage.Child("pvcName"))...)
	errs = append(errs, validateSubPath(s.Storage.SubPath, storage.Child("subPath"))...)
	mount, mountAt := s.Storage.MountPath, storage.Child("mountPath")
	mountValid := false
	switch {
	case mount == "":
		errs = append(errs, ruleMountPath.required(mountAt, "say where the claim is mounted, for example \"/data/models\""))
	case !path.IsAbs(mount):
		errs = append(errs, ruleMountPath.invalid(mountAt, mount, "write %q", clip(path.Clean("/"+mount))))
	case strings.Contains(mount, ":") || path.Clean(mount) == "/":
		errs = append(errs, ruleMountPath.invalid(mountAt, mount, "use for example \"/data/models\""))
	default:
		mountValid = true
	}

	model, modelAt := s.ModelPath, spec.Child("modelPath")
	switch {
	case model == "":
		return append(errs, vllmRequired(model, modelAt)...)
	case !isPath(model):
		return errs
	case !path.IsAbs(model):
		errs = append(errs, ruleModelPath.invalid(modelAt, model, "write the whole path, for example %q", clip(path.Join("/", mount, model))))
	case mountValid && !isBelow(mount, model):
		errs = append(errs, ruleModelPath.invalid(modelAt, model,
			"write for example %q, or change storage.mountPath from %q", clip(path.Join(mount, path.Base(path.Clean(model)))), clip(mount)))
	}
	return errs
}

// isPath tells a path from a hub id or URL.
func isPath(model string) bool {
	return strings.HasPrefix(model, "/") || strings.HasPrefix(model, ".") || strings.HasPrefix(model, "~")
}

// isBelow is true for the folder itself, too: it may hold the one model.
func isBelow(folder, p string) bool {
	folder, p = path.Clean(folder), path.Clean(p)
	return p == folder || strings.HasPrefix(p, strings.TrimSuffix(folder, "/")+"/")
}

func vllmServiceWarnings(v *aiinfrav1alpha1.VLLMService) []Warning {
	if v.Spec.ModelPath == "" || isPath(v.Spec.ModelPath) {
		return nil
	}
	return []Warning{warnHubModel.warn(field.NewPath("spec", "modelPath"), "store the model in the claim and give its path below %q",
		clip(v.Spec.Storage.MountPath))}
}
