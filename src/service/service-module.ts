import type { JobHandlers } from '../jobs/handler.ts';
import type { Endpoint } from '../protocols/endpoint.ts';

/** A part of the service: what it adds to the HTTP server and to the job worker, and how it is closed. */
export interface ServiceModule {
  readonly endpoints?: readonly Endpoint[];
  readonly jobs?: JobHandlers;
  close?(): Promise<void>;
}
