// The harbour's resources in the cloud.
targetScope = 'resourceGroup'

metadata description = 'resource fake \'x\' = {}'

import { boatType, dockCount as docks } from './shared/types.bicep'
import * as tides from 'shared/tides.bicep'
import 'br:example.azurecr.io/registry:1.0'
extension kubernetes with { namespace: 'harbour' }
using './other.bicep'

@description('Where things are.')
@allowed([
  'north'
  'south'
])
param location string = resourceGroup().location

@minLength(3)
@maxLength(24)
param name string
param count int = 3
param sku object = {
  name: 'Standard_LRS'
  tier: 'param hidden string'
}
@secure() param password string
@export()
type berth = {
  @description('Metres.')
  length: int
  boat: boatType?
  kind: 'pier' | 'buoy'
  *: string
}
type berths = berth[]
type size = 'small' | 'large'
param berthList berths = []
param optional string?
param   spaced   string
param nested { a: string, b: { c: int } } = { a: 'x', b: { c: 1 } }

var prefix = 'harbour-${name}'
var multi = '''
resource notThis 'x' = {
}
'''
var list = [
  'a'
  'b'
]
var loop = [for i in range(0, count): {
  name: 'dock-${i}'
}]
var condition = count > 2 ? 'many' : 'few'
@export()
var exported = 1
var object = { var: 'x', param: 'y' }
var lambda = map(list, item => toUpper(item))

@description('Joins two names.')
func join(a string, b string) string => '${a}-${b}'
func typed(x berth, y int?) { name: string } => { name: x.kind }
func long(
  first string,
  second string
) string => first

/* resource commented 'x' = {} */
resource storage 'Microsoft.Storage/storageAccounts@2023-01-01' = {
  name: toLower(replace(prefix, '-', ''))
  location: location
  sku: {
    name: sku.name
  }
  kind: 'StorageV2'

  resource blobs 'blobServices' = {
    name: 'default'

    resource container 'containers' = {
      name: 'levels'
    }
  }
}

resource docksAll 'Microsoft.Example/docks@2024-01-01' = [for (dock, i) in docks: if (i > 0) {
  name: '${prefix}-${dock}'
  dependsOn: [
    storage
  ]
}]

resource existing 'Microsoft.KeyVault/vaults@2023-07-01' existing = {
  name: 'vault'
  scope: resourceGroup('shared')
}
@batchSize(1)
resource conditional 'Microsoft.Example/buoys@2024-01-01' = if (count > 0) {
  name: 'buoy'
  parent: storage
  properties: {
    password: password
    url: existing.properties.vaultUri
    text: 'module fake \'x\''
    child: storage::blobs::container.id
  }
}
resource oneLine 'A/b@2024-01-01' = { name: 'x' } // resource after 'y' = {}

module network './modules/network.bicep' = {
  name: 'network'
  params: {
    location: location
    berths: berthList
  }
}
module registry 'br/public:avm/res/x:0.1.0' = { name: 'x' }
module perDock 'modules/dock.bicep' = [for d in list: {
  name: d
  scope: subscription()
}]
module template 'modules/legacy.json' = if (docks > 1) {
  name: 'legacy'
}

@description('The address.')
output endpoint string = storage.properties.primaryEndpoints.blob
output names array = [for i in range(0, count): docksAll[i].name]
output typedOutput berth = {
  length: 1
  kind: 'pier'
}
@secure()
output secret string = existing.getSecret('x')
assert positive = count > 0
provider 'kubernetes@1.0.0'
var last = network.outputs.id
param lastParam string = 'x' 
