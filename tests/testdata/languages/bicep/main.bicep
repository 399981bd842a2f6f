targetScope = 'resourceGroup'

@description('Where everything runs.')
param location string = resourceGroup().location
param name string
@secure()
param password string

var prefix = '${name}-shop'
var tags = {
  project: name
  owner: 'platform'
}

// The account for files.
resource storage 'Microsoft.Storage/storageAccounts@2023-01-01' = {
  name: '${prefix}store'
  location: location
  tags: tags
  sku: { name: 'Standard_LRS' }
  kind: 'StorageV2'

  resource blobs 'blobServices' = {
    name: 'default'
  }
}

resource plan 'Microsoft.Web/serverfarms@2022-09-01' existing = {
  name: prefix
}

/* The page. */
resource site 'Microsoft.Web/sites@2022-09-01' = if (deploySite) {
  name: prefix
  location: location
  dependsOn: [ storage ]
  properties: {
    serverFarmId: plan.id
    text: 'resource hidden'
  }
}

module network './modules/network.bicep' = {
  name: 'network'
  params: {
    location: location
  }
}

param deploySite bool = true

type sizes = 'small' | 'large'

func named(part string) string => '${part}-x'

output siteUrl string = site.properties.defaultHostName
output subnet string = network.outputs.subnetId
