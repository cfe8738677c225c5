import { ServiceError } from '../core/error.ts';

/**
 * The conclusion that a failure allows about the upstream server. `unreachable`: nothing accepts connections at its address.
 * `answered`: it sent a well-formed error response, so the server works and the request may be the cause.
 */
export type UpstreamEvidence = 'unreachable' | 'answered';

/** The cause of an upstream failure, for the log, which prints errors in full. */
export class UpstreamError extends Error {
  readonly evidence: UpstreamEvidence | undefined;

  constructor(message: string, evidence?: UpstreamEvidence) {
    super(message);
    this.evidence = evidence;
  }
}

/** Returns what a thrown error proves about its upstream server, if it comes from one. */
export const getUpstreamEvidence = (thrown: unknown): UpstreamEvidence | undefined =>
  thrown instanceof ServiceError && thrown.cause instanceof UpstreamError ? thrown.cause.evidence : undefined;
