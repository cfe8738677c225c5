import type { Catalogue, ModelInterface, ResolvedModel } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import type { ScoreRelevance } from '../core/relevance.ts';
import type { CodeInterpreter, ReadPage, Search } from '../core/server-tools.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import type { DocumentExtractor } from '../documents/document-extractor.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { Generate } from '../generation/generation.ts';
import type { ExamineRequest } from '../generation/server-tools/examine-request.ts';
import type { Tokenize } from '../generation/tokenize.ts';
import type { Clock } from '../lib/clock.ts';
import type { GenerationHandlers } from '../protocols/native/generation/generation-handler.ts';
import type { SocketEndpoint } from '../protocols/socket-endpoint.ts';
import type { JobNotifier } from '../resources/jobs/job-notifier.ts';
import type { Store } from '../store/store.ts';
import type { SearchProvider } from '../tools/search/search-provider.ts';
import type { ModelEngines } from './model-engines.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Files } from '../resources/files/file.ts';
import type { SignedLinks } from '../resources/files/signed-links.ts';
import type { ToolReport } from './readiness.ts';
import type { JobHandlers } from '../jobs/handler.ts';
import type { Endpoint } from '../protocols/endpoint.ts';

/**
 * An optional part of the service: one folder below `src/capabilities`, and one line in `src/capabilities.ts`. Nothing
 * else imports it, so the service compiles and works without it.
 */
export interface Capability {
  readonly name: string;
  /** Opens the tools that models call while they answer. Called before anything that generates text is opened. */
  openTools?(context: ToolContext): CapabilityTools | Promise<CapabilityTools>;
  /** Opens the endpoints and the jobs. Called before the HTTP server and the job worker are opened. */
  open?(context: CapabilityContext): CapabilityModule | Promise<CapabilityModule>;
}

/** Values that a capability needs to open its tools. */
export interface ToolContext {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly catalogue: Pick<Catalogue, 'find'>;
  readonly engines: Pick<ModelEngines, 'embeddingsFor' | 'rankingFor' | 'getState'>;
  readonly extract: DocumentExtractor;
  /** True in a process that answers no requests. */
  readonly isPrimary: boolean;
}

/** The tools of one capability. A tool that no capability provides is refused where a request requires it. */
export interface CapabilityTools {
  readonly code?: CodeInterpreter;
  /** Reads pages of the web. */
  readonly readPage?: ReadPage;
  readonly localIndex?: LocalIndex;
  /** Returns the current state of the tools, for reports. */
  readonly getReport?: () => ToolReport;
  /** Verifies the tools before the first request needs them. Never throws. */
  readonly verify?: () => Promise<void>;
  close?(): Promise<void>;
}

/** Documents that can be searched and read without a network. */
export interface LocalIndex {
  readonly provider: SearchProvider;
  /** Creates a function that reads documents of the index itself, and other pages by `readPage`. */
  readonly createReadPage: (readPage: ReadPage) => ReadPage;
}

/** Values that a capability needs to open its endpoints and jobs. */
export interface CapabilityContext {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly jobNotifier: JobNotifier;
  /** True in the one process that does the periodic cleanup for all. */
  readonly runsCleanup: boolean;
  readonly files: {
    readonly files: Files;
    readonly blobs: BlobStore;
    /** Creates signed links whose URL path begins with `path`; `seconds` is their validity. */
    readonly createLinksBelow: (path: string, seconds: number) => SignedLinks;
    /** Largest file that any workspace may upload, in bytes. */
    readonly fileBytesMax: number;
  };
  /** The current catalogue; its entries change while the service runs. */
  readonly catalogue: Pick<Catalogue, 'find' | 'list' | 'resolve'>;
  readonly engines: Pick<ModelEngines, 'embeddingsFor' | 'getState'>;
  readonly leaseSpeechEngine: (model: ResolvedModel) => Promise<{ readonly engine: SpeechEngine; release(): void }>;
  /** Generates text without server tools. */
  readonly generate: Generate;
  readonly examine: ExamineRequest;
  readonly tokenize: Tokenize;
  readonly search: Search;
  readonly readPage: ReadPage;
  readonly scoreRelevance: ScoreRelevance;
}

/** The endpoints and jobs of one capability. */
export interface CapabilityModule extends ServiceModule {
  /** Model interfaces that this capability serves. */
  readonly interfaces?: readonly ModelInterface[];
  /** Serve models that share the path of native text generation. */
  readonly generationHandlers?: GenerationHandlers;
  readonly createSockets?: (deps: { readonly meter: Meter }) => readonly SocketEndpoint[];
}

/** A part of the service: what it adds to the HTTP server and to the job worker, and how it is closed. */
export interface ServiceModule {
  readonly endpoints?: readonly Endpoint[];
  readonly jobs?: JobHandlers;
  close?(): Promise<void>;
}
