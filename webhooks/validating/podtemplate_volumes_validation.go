package validating

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	rulePodVolume = newRule(Rule{
		ID: "pod-volume", Effect: Rejects, Field: "*Template.spec.volumes[]",
		Says:    "a volume must have a DNS-1123 label of its own as name, and one source",
		Example: "two volumes named models",
		Fix:     "rename it, or remove one source",
	})
	rulePodMount = newRule(Rule{
		ID: "pod-mount", Effect: Rejects, Field: "*Template.spec.containers[].volumeMounts[]",
		Says:    "a mount must name a volume of the Pod, and a path of its own without ':'",
		Example: "volumeMounts: [{name: model, mountPath: /m}] without that volume",
		Fix:     "use the volume that the message proposes, or another path",
	})
	ruleSubPath = newRule(Rule{
		ID: "sub-path", Effect: Rejects, Field: "subPath",
		Says:    "a subPath must stay inside its volume: relative, and without '..'",
		Example: "subPath: ../secrets",
		Fix:     "use a path below the volume's root",
	})
)

// known are the names that something may refer to.
type known struct {
	all sets.Set[string]
	// listed are all of them in order, for messages.
	listed []string
}

func (k known) has(name string) bool { return k.all.Has(name) }

func namesOf[T any](items []T, name func(*T) string) known {
	k := known{all: sets.New[string]()}
	for i := range items {
		k.all.Insert(name(&items[i]))
	}
	k.listed = sets.List(k.all)
	return k
}

func validateVolumes(volumes []corev1.Volume, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i := range judged(len(volumes), &errs) {
		v, nameAt := &volumes[i], at.Index(i).Child("name")
		switch {
		case v.Name == "":
			errs = append(errs, rulePodVolume.required(nameAt, "name it, for example \"models\""))
		case len(validation.IsDNS1123Label(v.Name)) > 0:
			errs = append(errs, rulePodVolume.invalid(nameAt, v.Name, "use lower case, digits and '-'"))
		case seen.Has(v.Name):
			errs = append(errs, rulePodVolume.duplicate(nameAt, v.Name, "rename one of the two"))
		}
		seen.Insert(v.Name)
		if n := countSet(v.VolumeSource); n > 1 {
			errs = append(errs, rulePodVolume.invalid(at.Index(i), v.Name, "keep one of its %d sources", n))
		}
		errs = append(errs, validateVolumeSource(&v.VolumeSource, at.Index(i))...)
	}
	return errs
}

func validateMounts(c *corev1.Container, volumes known, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	paths := sets.New[string]()
	for i := range judged(len(c.VolumeMounts), &errs) {
		m, mountAt := &c.VolumeMounts[i], at.Child("volumeMounts").Index(i)
		errs = append(errs, validateVolumeRef(m.Name, volumes, mountAt.Child("name"))...)
		switch {
		case m.MountPath == "":
			errs = append(errs, rulePodMount.required(mountAt.Child("mountPath"), "say where it is mounted"))
		case strings.Contains(m.MountPath, ":"):
			errs = append(errs, rulePodMount.invalid(mountAt.Child("mountPath"), m.MountPath, "use a path without ':'"))
		case paths.Has(m.MountPath):
			errs = append(errs, rulePodMount.duplicate(mountAt.Child("mountPath"), m.MountPath, "mount one of the two elsewhere"))
		}
		paths.Insert(m.MountPath)
		errs = append(errs, validateSubPath(m.SubPath, mountAt.Child("subPath"))...)
		errs = append(errs, validateSubPath(m.SubPathExpr, mountAt.Child("subPathExpr"))...)
		if m.SubPath != "" && m.SubPathExpr != "" {
			errs = append(errs, ruleSubPath.invalid(mountAt.Child("subPathExpr"), m.SubPathExpr, "keep subPath or subPathExpr"))
		}
	}
	for i := range judged(len(c.VolumeDevices), &errs) {
		errs = append(errs, validateVolumeRef(c.VolumeDevices[i].Name, volumes, at.Child("volumeDevices").Index(i).Child("name"))...)
	}
	return errs
}

func validateVolumeRef(name string, volumes known, at *field.Path) field.ErrorList {
	if name != "" && volumes.has(name) {
		return nil
	}
	if best, ok := nearest(name, volumes.listed); ok {
		return field.ErrorList{rulePodMount.notFound(at, name, "did you mean %q? The volumes are %s", best, quotedList(volumes.listed))}
	}
	return field.ErrorList{rulePodMount.notFound(at, name, "add the volume, or use one that the Pod has: %s", quotedList(volumes.listed))}
}

// validateSubPath accepts an empty path: the volume's root.
func validateSubPath(subPath string, at *field.Path) field.ErrorList {
	if subPath == "" {
		return nil
	}
	if path.IsAbs(subPath) || slices.Contains(strings.Split(subPath, "/"), "..") {
		return field.ErrorList{ruleSubPath.invalid(at, subPath, "use a path below the volume's root")}
	}
	return nil
}

// validateVolumeSource judges the sources that models are served from.
func validateVolumeSource(s *corev1.VolumeSource, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.PersistentVolumeClaim != nil {
		errs = append(errs, validateRequiredReference(&s.PersistentVolumeClaim.ClaimName, at.Child("persistentVolumeClaim", "claimName"))...)
	}
	if s.ConfigMap != nil {
		errs = append(errs, filledIn(s.ConfigMap.Name, at.Child("configMap", "name"))...)
	}
	if s.Secret != nil {
		errs = append(errs, filledIn(s.Secret.SecretName, at.Child("secret", "secretName"))...)
	}
	if s.HostPath != nil {
		errs = append(errs, filledIn(s.HostPath.Path, at.Child("hostPath", "path"))...)
	}
	if s.HostPath != nil && slices.Contains(strings.Split(s.HostPath.Path, "/"), "..") {
		errs = append(errs, rulePodVolume.invalid(at.Child("hostPath", "path"), s.HostPath.Path, "write the path without '..'"))
	}
	if s.NFS != nil && (s.NFS.Server == "" || !path.IsAbs(s.NFS.Path)) {
		errs = append(errs, rulePodVolume.invalid(at.Child("nfs"), s.NFS.Server+":"+s.NFS.Path, "give a server and an absolute path"))
	}
	if s.CSI != nil && s.CSI.Driver == "" {
		errs = append(errs, rulePodVolume.required(at.Child("csi", "driver"), "name the driver"))
	}
	if s.EmptyDir != nil && s.EmptyDir.SizeLimit != nil && s.EmptyDir.SizeLimit.Sign() < 0 {
		errs = append(errs, rulePodVolume.invalid(at.Child("emptyDir", "sizeLimit"), quantityText(*s.EmptyDir.SizeLimit), "use 0 or more"))
	}
	return errs
}

func filledIn(value string, at *field.Path) field.ErrorList {
	if value != "" {
		return nil
	}
	return field.ErrorList{rulePodVolume.required(at, "fill it in")}
}
