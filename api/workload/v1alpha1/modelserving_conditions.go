package v1alpha1

// Condition types of a ModelServing.
const (
	// ConditionReady sums the others up in one word, for kstatus, Argo CD and kubectl wait.
	ConditionReady = "Ready"
	// ConditionAvailable is True when every wanted ServingGroup is available.
	ConditionAvailable = "Available"
	// ConditionProgressing is True while ServingGroups are being created, replaced or recovered, and
	// False when a rollout of them stands still.
	ConditionProgressing = "Progressing"
	// ConditionUpdateInProgress is True while ServingGroups wait for the update revision.
	ConditionUpdateInProgress = "UpdateInProgress"
	// ConditionGangSchedulingReady is True when every ServingGroup has its gang and is scheduled.
	ConditionGangSchedulingReady = "GangSchedulingReady"
	// ConditionRouteReady is True when the Gateway has accepted the route. Only with a gatewayRef.
	ConditionRouteReady = "RouteReady"
)

// Reasons of ConditionReady, ConditionAvailable, ConditionProgressing and ConditionUpdateInProgress.
const (
	// ReasonAllGroupsAvailable: every wanted ServingGroup is available.
	ReasonAllGroupsAvailable = "AllGroupsAvailable"
	// ReasonScaledToZero: no ServingGroup is wanted and none is there.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonGroupsCreating: ServingGroups or role replicas are being created or removed.
	ReasonGroupsCreating = "GroupsCreating"
	// ReasonPodsNotReady: all Pods are there, some are not Ready yet.
	ReasonPodsNotReady = "PodsNotReady"
	// ReasonGangPending: a gang does not fit, in the scheduler's words.
	ReasonGangPending = "GangPending"
	// ReasonUnschedulable: a Pod does not fit, in the scheduler's words.
	ReasonUnschedulable = "Unschedulable"
	// ReasonImagePullFailed: the kubelet cannot pull an image.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonCrashLooping: a container crashes again and again.
	ReasonCrashLooping = "CrashLooping"
	// ReasonInitContainerFailed: an init container fails.
	ReasonInitContainerFailed = "InitContainerFailed"
	// ReasonContainerConfigError: the kubelet cannot make a container from its configuration.
	ReasonContainerConfigError = "ContainerConfigError"
	// ReasonPodFailed: a Pod has ended for good, in phase Failed or Succeeded.
	ReasonPodFailed = "PodFailed"
	// ReasonRecovering: a failed unit is being recreated, or waits for its back-off or grace period.
	ReasonRecovering = "Recovering"
	// ReasonPodTerminating: Pods of a unit that is being replaced are still terminating, or what hangs
	// in Terminating is its PodGroup or a Service.
	ReasonPodTerminating = "PodTerminating"
	// ReasonNameConflict: an object that is not ours has a name that is needed.
	ReasonNameConflict = "NameConflict"
	// ReasonCreateFailed: the API server refused an object, in its words (quota, admission).
	ReasonCreateFailed = "CreateFailed"
	// ReasonQuotaExceeded: a ResourceQuota refuses Pods, so that ServingGroups are completed one after
	// another, the lowest first. Only of Progressing; the others say ReasonCreateFailed.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonRollingUpdate: a rollout is on.
	ReasonRollingUpdate = "RollingUpdate"
	// ReasonRolloutPaused: ServingGroups are outdated and the rollout is paused.
	ReasonRolloutPaused = "RolloutPaused"
	// ReasonRolloutStalled: the rollout stands still for longer than progressDeadlineSeconds.
	ReasonRolloutStalled = "RolloutStalled"
	// ReasonUpToDate: no ServingGroup waits for the update revision.
	ReasonUpToDate = "UpToDate"
	// ReasonInvalidSpec: the spec breaks a rule that admission would have refused.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonRouteNotReady: the groups are available, but the route is not accepted.
	ReasonRouteNotReady = "RouteNotReady"
)

// Reasons of ConditionGangSchedulingReady, beside ReasonGangPending.
const (
	// ReasonGangScheduled: every ServingGroup's gang is scheduled.
	ReasonGangScheduled = "GangScheduled"
	// ReasonVolcanoNotInstalled: the PodGroup CRD is missing; Pods are created without a gang.
	ReasonVolcanoNotInstalled = "VolcanoNotInstalled"
	// ReasonSchedulerHasNoGangs: schedulerName is not volcano; no PodGroup is made.
	ReasonSchedulerHasNoGangs = "SchedulerHasNoGangs"
)

// Reasons of ConditionRouteReady.
const (
	// ReasonRouteAccepted: the Gateway has accepted the route and resolved its backends.
	ReasonRouteAccepted = "RouteAccepted"
	// ReasonGatewayNotFound: the Gateway does not exist.
	ReasonGatewayNotFound = "GatewayNotFound"
	// ReasonListenerNotFound: the Gateway has no listener of that name.
	ReasonListenerNotFound = "ListenerNotFound"
	// ReasonListenerProtocolNotHTTP: the listener's protocol is neither HTTP nor HTTPS.
	ReasonListenerProtocolNotHTTP = "ListenerProtocolNotHTTP"
	// ReasonNotAllowedByListener: the listener's allowedRoutes do not admit the namespace or HTTPRoutes.
	ReasonNotAllowedByListener = "NotAllowedByListener"
	// ReasonHostnameMismatch: the host is outside the listener's hostname.
	ReasonHostnameMismatch = "HostnameMismatch"
	// ReasonGatewayAPINotInstalled: the Gateway API CRDs are missing.
	ReasonGatewayAPINotInstalled = "GatewayAPINotInstalled"
	// ReasonHostConflict: an older object claims the same host on the same listener.
	ReasonHostConflict = "HostConflict"
	// ReasonRouteNotAccepted: the Gateway controller refused the route, in its words.
	ReasonRouteNotAccepted = "RouteNotAccepted"
	// ReasonBackendNotResolved: the Gateway controller cannot resolve the backend, in its words.
	ReasonBackendNotResolved = "BackendNotResolved"
	// ReasonWaitingForGatewayController: no Gateway controller has spoken about this generation yet.
	ReasonWaitingForGatewayController = "WaitingForGatewayController"
)

// Reasons of Events, beside ReasonNameConflict, ReasonCreateFailed, ReasonGangPending and
// ReasonRolloutStalled.
const (
	EventRoleCreating      = "RoleCreating"
	EventRoleRunning       = "RoleRunning"
	EventRoleDeleting      = "RoleDeleting"
	EventGroupRecreating   = "GroupRecreating"
	EventRoleRecreating    = "RoleRecreating"
	EventRecoveryEscalated = "RecoveryEscalated"
	EventRolloutStarted    = "RolloutStarted"
	EventRolloutCompleted  = "RolloutCompleted"
)
