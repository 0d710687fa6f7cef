import { generate } from 'selfsigned';

export interface Certificate {
  /** In PEM. */
  cert: string;
  /** In PEM. */
  key: string;
}

/** A certificate that signs itself: for loopback, or for a name. */
export async function selfSigned(name?: string): Promise<Certificate> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: name ?? 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: name ?? 'localhost' }, ...(name ? [] : LOOPBACK)] },
    ],
  });
  return { cert, key };
}

const LOOPBACK = [{ type: 7 as const, ip: '127.0.0.1' }];
