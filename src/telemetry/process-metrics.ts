import { Gauge, type Registry } from 'prom-client';
import type { EventLoopMonitor } from './event-loop-monitor.ts';
import { readFileDescriptors } from './read-file-descriptors.ts';

/** Load of an engine process. */
export interface EngineLoad {
  /** Name of its weights. */
  readonly engine: string;
  readonly queued: number;
  readonly busySequences: number;
  readonly sequences: number;
}

/** Jobs of one kind that wait. */
export interface WaitingJobs {
  readonly kind: string;
  readonly count: number;
  /** Age of the oldest of them, in seconds. */
  readonly oldestSeconds: number;
}

/** Facts of the whole service. With workers, only the primary reports them. */
export interface ServiceMeasurements {
  readonly databaseBytes: number;
  readonly walBytes: number;
  readonly freeDiskBytes: number;
  readonly engines: readonly EngineLoad[];
  readonly waitingJobs: readonly WaitingJobs[];
}

export interface ProcessMetricsDeps {
  readonly eventLoop: Pick<EventLoopMonitor, 'read'>;
  /** Absent in a worker. */
  readonly readServiceMeasurements?: (() => Promise<ServiceMeasurements>) | undefined;
}

/** Adds the metrics of this process to a registry. @returns a function that sets their current values. */
export function addProcessMetrics(
  registers: [Registry],
  { eventLoop, readServiceMeasurements }: ProcessMetricsDeps,
): () => Promise<void> {
  const options = { registers, aggregator: 'sum' } as const;
  const delay = new Gauge({
    name: 'parley_event_loop_delay_seconds',
    help: 'Delay of the event loop in the last one to two minutes, of the slowest process (p50, p99, max).',
    labelNames: ['quantile'],
    registers,
    aggregator: 'max',
  });
  const resident = new Gauge({
    name: 'parley_resident_memory_bytes',
    help: 'Resident memory of all processes without engines.',
    ...options,
  });
  const descriptors = new Gauge({
    name: 'parley_open_file_descriptors',
    help: 'Open file descriptors of all processes without engines.',
    ...options,
  });
  const descriptorLimit = new Gauge({
    name: 'parley_file_descriptor_limit',
    help: 'Limit of the open file descriptors of one process.',
    registers,
    aggregator: 'min',
  });
  const setServiceMeasurements = readServiceMeasurements
    ? addServiceMetrics(registers, readServiceMeasurements)
    : undefined;
  return async () => {
    for (const [quantile, seconds] of Object.entries(eventLoop.read())) delay.set({ quantile }, seconds);
    resident.set(process.memoryUsage.rss());
    const counts = await readFileDescriptors();
    if (counts) {
      descriptors.set(counts.open);
      descriptorLimit.set(counts.limit);
    }
    await setServiceMeasurements?.();
  };
}

function addServiceMetrics(
  registers: [Registry],
  readMeasurements: () => Promise<ServiceMeasurements>,
): () => Promise<void> {
  const createGauge = (name: string, help: string, labelNames: string[] = []): Gauge =>
    new Gauge({ name: `parley_${name}`, help, labelNames, registers });
  const database = createGauge('database_bytes', 'Size of the database and of its write-ahead log (file: main, wal).', [
    'file',
  ]);
  const freeDisk = createGauge('data_disk_free_bytes', 'Free space on the disk of the database.');
  const queued = createGauge('engine_queue_length', 'Requests that wait in an engine process.', ['engine']);
  const sequences = createGauge('engine_sequences', 'Sequences of an engine process, by state (busy, total).', [
    'engine',
    'state',
  ]);
  const waiting = createGauge('jobs_waiting', 'Jobs that wait for an attempt, by kind.', ['kind']);
  const oldest = createGauge('jobs_waiting_oldest_seconds', 'Age of the oldest waiting job, by kind.', ['kind']);
  return async () => {
    const measurements = await readMeasurements();
    database.set({ file: 'main' }, measurements.databaseBytes);
    database.set({ file: 'wal' }, measurements.walBytes);
    freeDisk.set(measurements.freeDiskBytes);
    // Engines end, and kinds of jobs have no job any more.
    for (const gauge of [queued, sequences, waiting, oldest]) gauge.reset();
    for (const { engine, ...load } of measurements.engines) {
      queued.inc({ engine }, load.queued);
      sequences.inc({ engine, state: 'busy' }, load.busySequences);
      sequences.inc({ engine, state: 'total' }, load.sequences);
    }
    for (const { kind, count, oldestSeconds } of measurements.waitingJobs) {
      waiting.set({ kind }, count);
      oldest.set({ kind }, oldestSeconds);
    }
  };
}
