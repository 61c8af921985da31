package names

// Labels that Gangway puts on Pods, Services, PodGroups and ControllerRevisions.
// They are the field's own, so that existing selectors and dashboards work.
const (
	labelPrefix = "modelserving.volcano.sh/"

	// LabelModelServing holds the name of the ModelServing.
	LabelModelServing = labelPrefix + "name"
	// LabelGroup holds the name of the ServingGroup.
	LabelGroup = labelPrefix + "group-name"
	// LabelRole holds the name of the role.
	LabelRole = labelPrefix + "role"
	// LabelRoleID holds the id of the role replica, for example prefill-0.
	LabelRoleID = labelPrefix + "role-id"
	// LabelRevision holds the hash of the ControllerRevision that the Pod was made from.
	LabelRevision = labelPrefix + "revision"
	// LabelRoleTemplateHash holds the hash of the role's templates and workerReplicas.
	LabelRoleTemplateHash = labelPrefix + "role-template-hash"
	// LabelEntry is "true" on entry Pods and absent on workers.
	LabelEntry = labelPrefix + "entry"
	// LabelModelInfer holds the group's name on PodGroups, as Volcano's dashboards know it.
	LabelModelInfer = "modelinfer.volcano.sh/name"

	// LabelVLLMService holds the name of the VLLMService on its Pods.
	LabelVLLMService = "gangway.dev/vllmservice"

	// EntryValue is the value of LabelEntry.
	EntryValue = "true"
)

// ReservedLabels are those that a Pod template must not set.
func ReservedLabels() []string {
	return []string{
		LabelModelServing, LabelGroup, LabelRole, LabelRoleID,
		LabelRevision, LabelRoleTemplateHash, LabelEntry,
	}
}

// Annotations that tie a Pod to its gang (Volcano, pkg/scheduler/api).
const (
	// AnnotationGroupName names the PodGroup on a Pod, and the ModelServing on a PodGroup.
	AnnotationGroupName = "scheduling.k8s.io/group-name"
	// AnnotationTaskSpec names the task that a Pod counts for: its role.
	AnnotationTaskSpec = "volcano.sh/task-spec"
	// AnnotationQueue on a ModelServing names the Volcano queue.
	AnnotationQueue = "scheduling.volcano.sh/queue-name"
)

// ReservedAnnotations are those that a Pod template must not set.
func ReservedAnnotations() []string {
	return []string{AnnotationGroupName, AnnotationTaskSpec}
}

// Environment variables of every container of a ModelServing's Pods.
const (
	// EnvEntryAddress is the DNS name of the role replica's entry Pod.
	EnvEntryAddress = "ENTRY_ADDRESS"
	// EnvGroupSize is 1 + workerReplicas.
	EnvGroupSize = "GROUP_SIZE"
	// EnvWorkerIndex is 0 in the entry Pod, 1.. in the workers.
	EnvWorkerIndex = "WORKER_INDEX"
)

// ReservedEnv are the names of those environment variables.
func ReservedEnv() []string {
	return []string{EnvEntryAddress, EnvGroupSize, EnvWorkerIndex}
}

const (
	// SchedulerVolcano is the schedulerName for which ServingGroups get PodGroups.
	SchedulerVolcano = "volcano"
	// DefaultPort is the port of a model server that declares no container port.
	DefaultPort int32 = 8000
	// DefaultPodDeletionCost is the value of an absent pod-deletion-cost annotation.
	DefaultPodDeletionCost = 0
)
