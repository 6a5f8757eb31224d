"""Keys that other tools which read these files know, and that have no meaning here.

They are accepted, so that one file serves both; `interlock config show` lists them as ignored.
"""

from __future__ import annotations

# Restrictions. Whoever wrote one believes to be protected by it, so its file and line are told.
_RESTRICTIONS = """
    allowedChannelPlugins allowedHttpHookUrls allowedMcpServers allowManagedMcpServersOnly
    availableModels blockedMarketplaces deniedMcpServers
    disableSideloadFlags enforceAvailableModels forceLoginGatewayUrl
    forceLoginMethod forceLoginOrgUUID forceRemoteSettingsRefresh httpHookAllowedEnvVars
    policyHelper requireCoworkFullVmSandbox requiredMaximumVersion requiredMinimumVersion
    strictKnownMarketplaces strictPluginOnlyCustomization
"""

_OTHERS = """
    $schema advisorModel agent agentPushNotifEnabled allowAllClaudeAiMcps alwaysThinkingEnabled
    askUserQuestionTimeout attribution autoCompactEnabled autoConnectIde
    autoInstallIdeExtension autoMode autoScrollEnabled
    autoUpdates autoUpdatesChannel awaySummaryEnabled awsAuthRefresh awsCredentialExport
    axScreenReader browserExternalPageTools channelsEnabled claudeMd
    companyAnnouncements defaultShell diffTool disableAgentView
    disableArtifact disableAutoMode disableBrowserExternalNavigation disableBundledSkills
    disableClaudeAiConnectors disableDeepLinkRegistration disableMobileSimulatorTools
    disableRemoteControl disableWorkflows editorMode effortLevel emojiCompletionEnabled
    enableArtifact enabledPlugins
    externalEditorContext extraKnownMarketplaces fastMode fastModePerSessionOptIn
    feedbackSurveyRate fileSuggestion footerLinksRegexes
    gcpAuthRefresh includeCoAuthoredBy includeGitInstructions inputNeededNotifEnabled language
    managedMcpServers minimumVersion modelOverrides otelHeadersHelper outputStyle
    parentSettingsBehavior permissionExplainerEnabled permissions.disableAutoMode
    plansDirectory pluginConfigs pluginSuggestionMarketplaces pluginTrustMessage
    preferredNotifChannel prefersReducedMotion processWrapper prUrlTemplate
    remoteControlAtStartup respectGitignore respondToBashCommands showClearContextOnPlanAccept
    showThinkingSummaries showTurnDuration skillListingBudgetFraction skillListingMaxDescChars
    skillOverrides skipDangerousModePermissionPrompt skippedMarketplaces skippedPlugins
    skipWebFetchPreflight spinnerTipsEnabled spinnerTipsOverride spinnerVerbs sshConfigs
    sshHostAllowlist statusLine subagentStatusLine syntaxHighlightingDisabled
    teammateDefaultModel teammateMode terminalProgressBarEnabled theme tui
    useAutoModeDuringPlan verbose viewMode vimInsertModeRemaps voice voiceEnabled
    wheelScrollAccelerationEnabled workflowKeywordTriggerEnabled workflowSizeGuideline worktree
    wslInheritsWindowsSettings
"""

UNENFORCED = frozenset(_RESTRICTIONS.split())
WITHOUT_EFFECT = frozenset(_OTHERS.split())
