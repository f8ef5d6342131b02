/**
 * Next steps in faults of credentials, for each whose credentials they are: the gateway's stand under `platform:` and `provisioning:`, those of an
 * attached device in its entry of `devices:`, and each has commands of its own.
 */

export interface CredentialWords {
  /** Says how a token that the platform has comes here; begins a sentence. */
  readonly enterToken: string;
  /** Settings that hold the provisioning key and secret. */
  readonly provisioningKey: string;
  /** Settings by which credentials come about. */
  readonly anyCredentials: string;
  /** Keeps the credentials of a card that was moved for good. */
  readonly keepMoved: string;
  /** Parts with the credentials of a copied card, where a provisioning made them. */
  readonly forgetCopy: string;
  /** Parts with the credentials of a copied card, where the configuration holds them. */
  readonly replaceConfigured: string;
}

export const GATEWAY_WORDS: CredentialWords = {
  enterToken: "Copy that device's access token into platform.accessToken",
  provisioningKey: 'provisioning.deviceKey and provisioning.deviceSecret',
  anyCredentials: 'platform.accessToken, or provisioning.deviceKey and provisioning.deviceSecret',
  keepMoved: 'turnstone identity adopt',
  forgetCopy: 'turnstone identity forget',
  replaceConfigured: 'give this board a platform.accessToken of its own',
};

export const BESIDE_WORDS: CredentialWords = {
  enterToken: 'Enter its token with turnstone devices rotate',
  provisioningKey: 'the provisioning key and secret of its entry of devices:, or else those of the gateway,',
  anyCredentials: 'its token, or a provisioning key and secret, in its entry of devices:',
  keepMoved: 'provisioning.onOtherBoard: continue',
  forgetCopy: 'turnstone devices remove',
  replaceConfigured: 'give its entry of devices: another token',
};
