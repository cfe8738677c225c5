import { ServiceError } from '../../core/error.ts';

/** A package of the npm registry with the pinned hash of its archive. */
export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** SHA-512 of the archive, base64; stated by the registry when the version was pinned. */
  readonly sha512: string;
  readonly archiveBytes: number;
  /** Files (exact paths) and folders (paths that end in `/`) of the package that are unpacked. */
  readonly includedPaths: readonly string[];
}

/** A native runtime that is installed on demand. */
export interface EngineRuntime {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly packages: readonly PinnedPackage[];
  /** Name of the package that engines load. */
  readonly main: string;
}

/** Operating system and processor of a machine. */
export interface RuntimePlatform {
  readonly platform: string;
  readonly arch: string;
  /** Version of the GNU C library; undefined on other systems and on Linux with another C library (musl). */
  readonly glibc: string | undefined;
}

const VERSION = '1.30.0';

/** Platforms that the package contains a library for. */
const PLATFORMS: readonly string[] = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'win32-x64', 'win32-arm64'];

/**
 * Returns the ONNX runtime for a platform: only that platform's library, without the package's install script.
 * @throws ServiceError `unsupported` when the package has no library for the platform.
 */
export function getSpeechRuntime({ platform, arch, glibc }: RuntimePlatform): EngineRuntime {
  const isMusl = platform === 'linux' && glibc === undefined;
  if (isMusl || !PLATFORMS.includes(`${platform}-${arch}`)) {
    const where = `${platform}-${arch}${isMusl ? ' without glibc' : ''}`;
    throw new ServiceError(
      'unsupported',
      `No speech runtime is available for ${where}; supported platforms: ${PLATFORMS.join(', ')}.`,
    );
  }
  return {
    name: 'speech',
    version: VERSION,
    licence: 'MIT',
    main: 'onnxruntime-node',
    packages: [
      {
        name: 'onnxruntime-common',
        version: VERSION,
        sha512: '7fdVWjAID1dVhH/G8qK3APARunV4VkBFoCQAP7qp4Wkab0mrorvmc+sqiT+mKXOzDqdjN5j+/Z9nb4gzNPWcyA==',
        archiveBytes: 66_795,
        includedPaths: ['package.json', 'dist/cjs/'],
      },
      {
        name: 'onnxruntime-node',
        version: VERSION,
        sha512: 'twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==',
        archiveBytes: 113_507_888,
        includedPaths: ['package.json', 'dist/', `bin/napi-v6/${platform}/${arch}/`],
      },
    ],
  };
}
