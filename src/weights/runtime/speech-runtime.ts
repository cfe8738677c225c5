import { ServiceError } from '../../core/error.ts';

/** A package of the npm registry, with the hash of its archive as the registry's own files state it. */
export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** SHA-512 of the archive, base64. */
  readonly sha512: string;
  readonly archiveBytes: number;
  /** What is kept of it: beginnings of paths within the package. */
  readonly keeps: readonly string[];
}

/** A runtime that is installed on demand. */
export interface EngineRuntime {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly packages: readonly PinnedPackage[];
  /** The package that is loaded. */
  readonly main: string;
}

/** Where it runs. */
export interface RuntimePlatform {
  readonly platform: string;
  readonly arch: string;
  /** Absent where the system's C library is another one (musl), or none of that kind. */
  readonly glibc: string | undefined;
}

const VERSION = '1.30.0';

/** Those that the package has a library for. */
const PLATFORMS: readonly string[] = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'win32-x64', 'win32-arm64'];

/**
 * The ONNX runtime for this machine: of the package's five platforms one, and no install script.
 * @throws ServiceError `unsupported` where there is none.
 */
export function speechRuntime({ platform, arch, glibc }: RuntimePlatform): EngineRuntime {
  const isMusl = platform === 'linux' && glibc === undefined;
  if (isMusl || !PLATFORMS.includes(`${platform}-${arch}`)) {
    const where = `${platform}-${arch}${isMusl ? ' without glibc' : ''}`;
    throw new ServiceError(
      'unsupported',
      `There is no speech runtime for ${where}; there is one for ${PLATFORMS.join(', ')}.`,
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
        keeps: ['package.json', 'dist/cjs/'],
      },
      {
        name: 'onnxruntime-node',
        version: VERSION,
        sha512: 'twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==',
        archiveBytes: 113_507_888,
        keeps: ['package.json', 'dist/', `bin/napi-v6/${platform}/${arch}/`],
      },
    ],
  };
}
