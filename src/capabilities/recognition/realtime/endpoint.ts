import { ServiceError } from '../../../core/error.ts';
import type { Endpoint } from '../../../protocols/endpoint.ts';
import { INTERFACES } from '../../../protocols/interfaces.ts';
import type { SocketEndpoint } from '../../../protocols/socket-endpoint.ts';
import { createRealtimeSession } from './realtime-session.ts';
import type { RealtimeSessionDeps } from './realtime-session.ts';

const PATH = '/api-ws/v1/inference';

/** Creates the WebSocket endpoint for live speech recognition (docs/wire/realtime.md#recognition-messages). */
export const createRealtimeEndpoint = (deps: RealtimeSessionDeps): SocketEndpoint => ({
  operation: 'realtime.connect',
  path: PATH,
  family: 'native',
  regions: INTERFACES.realtime.regions,
  open: (peer, context) => createRealtimeSession(deps, peer, context),
});

/** Creates the HTTP endpoint of the same path, which explains how to connect. */
export const createRealtimeHttpEndpoint = (): Endpoint => ({
  operation: 'realtime.plain',
  method: 'GET',
  path: PATH,
  family: 'native',
  regions: INTERFACES.realtime.regions,
  onDisconnect: 'cancel',
  handle: () =>
    Promise.reject(
      new ServiceError(
        'invalid-request',
        'This path accepts WebSocket connections only. Connect with the header Upgrade: websocket.',
      ),
    ),
});
