// Why a pod failed as a whole, not one of its containers.

export interface PodFailure {
  /** Kubernetes' word: `DeadlineExceeded`, `Evicted`, … */
  readonly reason: string;
  readonly message: string;
}
