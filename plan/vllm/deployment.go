package vllm

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/route"
)

// ContainerName is the name of the container that runs vLLM.
const ContainerName = "vllm"

const (
	volumeModel = "model"
	volumeShm   = "dshm"
	shmPath     = "/dev/shm"
)

const (
	// preStopSeconds is how long a Pod that is going still answers: its SIGTERM comes at once, while
	// the news of its end is on its way to the Gateway, which would answer 502 meanwhile.
	preStopSeconds int64 = 5
	// drainSeconds is what requests under way have after that.
	drainSeconds int64 = corev1.DefaultTerminationGracePeriodSeconds
)

// Deployment is the one that v wants, with every field that the API server defaults.
func Deployment(v *aiinfrav1alpha1.VLLMService) *appsv1.Deployment {
	d := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: names.Deployment(v.Name)},
		Spec: appsv1.DeploymentSpec{
			// The selector cannot change for as long as the Deployment lives, so it holds nothing
			// that the user may change.
			Selector: &metav1.LabelSelector{MatchLabels: selector(v)},
		},
	}
	setDeployment(d, v)
	return d
}

// deploymentUpdate is the owned Deployment with what is ours put right.
func deploymentUpdate(v *aiinfrav1alpha1.VLLMService, current *appsv1.Deployment) (updated *appsv1.Deployment, changed bool) {
	updated = current.DeepCopy()
	setDeployment(updated, v)
	return updated, !equality.Semantic.DeepEqual(current, updated)
}

// setDeployment writes what is ours and leaves the rest: status, paused, the template's annotations.
func setDeployment(d *appsv1.Deployment, v *aiinfrav1alpha1.VLLMService) {
	in := route.ForVLLMService(v)
	in.Owner.Stamp(d, in.Labels, in.UserLabels)
	d.Spec.Replicas = ptr.To(ptr.Deref(v.Spec.Replicas, 1))
	d.Spec.Strategy = strategy(v.Spec.Strategy)
	d.Spec.MinReadySeconds = 0
	d.Spec.RevisionHistoryLimit = ptr.To[int32](10)
	d.Spec.ProgressDeadlineSeconds = ptr.To(progressDeadlineSeconds(v))
	d.Spec.Template.Labels = podLabels(v)
	d.Spec.Template.Spec = podSpec(v)
}

func selector(v *aiinfrav1alpha1.VLLMService) map[string]string {
	return map[string]string{names.LabelVLLMService: v.Name}
}

func podLabels(v *aiinfrav1alpha1.VLLMService) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, v.Spec.Labels)
	maps.Copy(labels, selector(v))
	return labels
}

func podSpec(v *aiinfrav1alpha1.VLLMService) corev1.PodSpec {
	s := v.Spec.DeepCopy()
	return corev1.PodSpec{
		Containers:         []corev1.Container{container(v, s)},
		Volumes:            volumes(s),
		NodeSelector:       s.NodeSelector,
		HostIPC:            s.HostIPC,
		RuntimeClassName:   s.RuntimeClassName,
		SchedulerName:      orString(s.SchedulerName, corev1.DefaultSchedulerName),
		ImagePullSecrets:   s.ImagePullSecrets,
		Tolerations:        s.Tolerations,
		Affinity:           s.Affinity,
		PriorityClassName:  s.PriorityClassName,
		ServiceAccountName: s.ServiceAccountName,
		// The API server keeps the two names of the account equal.
		DeprecatedServiceAccount: s.ServiceAccountName,
		// A Service called "vllm" would put VLLM_PORT=tcp://... into the environment, which vLLM
		// reads as its own setting and refuses.
		EnableServiceLinks:            ptr.To(false),
		DNSPolicy:                     corev1.DNSClusterFirst,
		RestartPolicy:                 corev1.RestartPolicyAlways,
		SecurityContext:               &corev1.PodSecurityContext{},
		TerminationGracePeriodSeconds: ptr.To(preStopSeconds + drainSeconds),
	}
}

func container(v *aiinfrav1alpha1.VLLMService, s *aiinfrav1alpha1.VLLMServiceSpec) corev1.Container {
	readOnly := ptr.Deref(s.Storage.ReadOnly, true)
	mounts := []corev1.VolumeMount{{
		Name: volumeModel, MountPath: s.Storage.MountPath, SubPath: s.Storage.SubPath, ReadOnly: readOnly,
	}}
	if s.ShmSize != nil {
		mounts = append(mounts, corev1.VolumeMount{Name: volumeShm, MountPath: shmPath})
	}
	return corev1.Container{
		Name:            ContainerName,
		Image:           s.Image,
		ImagePullPolicy: pullPolicy(s.Image),
		Args:            arguments(v),
		Ports: []corev1.ContainerPort{{
			Name: names.PortHTTP, ContainerPort: port(v), Protocol: corev1.ProtocolTCP,
		}},
		Env:            defaultEnv(s.Env),
		EnvFrom:        s.EnvFrom,
		Resources:      defaultResources(s.Resources),
		VolumeMounts:   mounts,
		StartupProbe:   startupProbe(v),
		LivenessProbe:  livenessProbe(v),
		ReadinessProbe: readinessProbe(v),
		Lifecycle: &corev1.Lifecycle{
			PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: preStopSeconds}},
		},
		SecurityContext:          s.SecurityContext,
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
}

func volumes(s *aiinfrav1alpha1.VLLMServiceSpec) []corev1.Volume {
	volumes := []corev1.Volume{{
		Name: volumeModel,
		VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: s.Storage.PVCName, ReadOnly: ptr.Deref(s.Storage.ReadOnly, true),
		}},
	}}
	if s.ShmSize != nil {
		volumes = append(volumes, corev1.Volume{
			Name: volumeShm,
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
				Medium: corev1.StorageMediumMemory, SizeLimit: s.ShmSize,
			}},
		})
	}
	return volumes
}

func port(v *aiinfrav1alpha1.VLLMService) int32 { return orInt32(v.Spec.Port, names.DefaultPort) }
